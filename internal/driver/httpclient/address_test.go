package httpclient

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// A4: the address that is dialled decides, whatever name led to it.
func TestA4PrivateAddressesAreRefused(t *testing.T) {
	for kind, addresses := range map[string][]string{
		"loopback":      {"127.0.0.1:80", "127.8.9.10:443", "127.255.255.255:80", "[::1]:80"},
		"unspecified":   {"0.0.0.0:80", "0.1.2.3:80", "[::]:80"},
		"private":       {"10.1.2.3:80", "172.16.0.1:80", "172.31.255.255:80", "192.168.1.1:80", "[fc00::1]:80", "[fdff::1]:80"},
		"link-local":    {"169.254.0.1:80", "[fe80::1]:80", "[fe80::1%lo]:80", "[febf::1]:80", "[fec0::1]:80"},
		"zone":          {"[2606:2800:220:1::1%eth0]:443"},
		"metadata":      {"169.254.169.254:80", "[fd00:ec2::254]:80", "168.63.129.16:80", "192.0.0.192:80"},
		"carrier":       {"100.64.0.1:80", "100.127.255.255:80", "100.100.100.200:80"},
		"multicast":     {"224.0.0.1:80", "239.255.255.255:80", "[ff02::1]:80", "[ff0e::1]:80"},
		"broadcast":     {"255.255.255.255:80", "240.0.0.1:80"},
		"documentation": {"192.0.2.1:80", "198.51.100.1:80", "203.0.113.1:80", "[2001:db8::1]:80", "[3fff::1]:80"},
		"special":       {"192.0.0.1:80", "198.18.0.1:80", "198.19.255.255:80", "192.88.99.1:80", "[2001:10::1]:80", "[2001:2f::1]:80", "[100::1]:80", "[4000::1]:80"},
		"mapped":        {"[::ffff:127.0.0.1]:80", "[::ffff:10.0.0.1]:80", "[::ffff:169.254.169.254]:80", "[::ffff:100.64.0.1]:80", "[::ffff:0.0.0.0]:80"},
		"compatible":    {"[::127.0.0.1]:80", "[::93.184.216.34]:80"},
		"translated":    {"[64:ff9b::127.0.0.1]:80", "[64:ff9b::10.0.0.1]:80", "[64:ff9b::169.254.169.254]:80", "[64:ff9b::0.0.0.0]:80", "[64:ff9b:1::93.184.216.34]:80"},
		"6to4":          {"[2002:7f00:1::1]:80", "[2002:a00:1::]:80", "[2002:5db8:d822::1]:80"},
		"Teredo":        {"[2001:0:4136:e378:8000:63bf:3fff:fdd2]:80", "[2001::1]:80"},
		"unreadable":    {"localhost:80", "", "nonsense", "127.0.0.1", "0x7f.1:80", "2130706433:80"},
	} {
		for _, address := range addresses {
			if err := refusePrivate("tcp", address, nil); fault.As(err).Code != fault.Refused {
				t.Errorf("%s %s: %v", kind, address, err)
			}
		}
	}
	for _, address := range []string{
		"93.184.216.34:443", "[2606:2800:220:1::1]:443", "100.63.255.255:80", "100.128.0.1:80", "172.32.0.1:80", "11.0.0.1:80", "[::ffff:93.184.216.34]:80",
		"[64:ff9b::93.184.216.34]:443", "[2001:4860:4860::8888]:443", "198.17.0.1:80", "198.20.0.1:80", "223.255.255.255:80", "1.1.1.1:53", "[2a00::1]:80",
	} {
		if err := refusePrivate("tcp", address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// However an IPv4 address is dressed up, it is judged as itself or refused.
func TestA4DisguisedAddressesAreNoBetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")))
		bytes := plain.As4()
		for _, prefix := range []string{"::ffff:0:0", "64:ff9b::", "64:ff9b:1::", "::"} {
			long := netip.MustParseAddr(prefix).As16()
			copy(long[12:], bytes[:])
			if dressed := netip.AddrFrom16(long); isPublic(dressed) && !isPublic(plain) {
				t.Fatalf("%s passes as %s", plain, dressed)
			}
		}
	})
}

func TestA4PrivateServersNeedPermission(t *testing.T) {
	var asked atomic.Int32
	base := handle(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	_, port, err := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		r := request(t, "http://"+host+":"+port)
		r.AllowPrivate = false
		f := refusedWith(t, host, r, fault.Refused)
		if f.Level != fault.Request || !f.Unsent {
			t.Errorf("%s: level %s, unsent %v: trying again would not help", host, f.Level, f.Unsent)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("%d requests arrived", asked.Load())
	}
	if _, err := New(Options{}).Send(t.Context(), request(t, base)); err != nil || asked.Load() != 1 {
		t.Errorf("with permission: %v, %d arrived", err, asked.Load())
	}
}

// A5: a name may say something else each time it is asked. What is dialled is
// what was checked, each address of each answer.
func TestA5EveryAddressOfANameIsChecked(t *testing.T) {
	names := &fakeNames{answers: [][]string{{"93.184.216.34"}, {"127.0.0.1"}, {"93.184.216.34", "10.0.0.1", "169.254.169.254"}}}
	var mu sync.Mutex
	var dialled, refused []string
	control := func(network, address string, c syscall.RawConn) error {
		mu.Lock()
		defer mu.Unlock()
		dialled = append(dialled, address)
		if err := refusePrivate(network, address, c); err != nil {
			refused = append(refused, address)
			return err
		}
		return errors.New("no network in this test")
	}
	dialer := newDialer(names.resolver(), control)
	for _, want := range []struct{ dialled, refused string }{
		{"93.184.216.34:80", ""},
		{"127.0.0.1:80", "127.0.0.1:80"},
		{"10.0.0.1:80 169.254.169.254:80 93.184.216.34:80", "10.0.0.1:80 169.254.169.254:80"},
	} {
		dialled, refused = nil, nil
		if conn, err := dialer.DialContext(t.Context(), "tcp", "rebind.example:80"); err == nil {
			conn.Close()
			t.Error("connected without a network")
		}
		slices.Sort(dialled)
		slices.Sort(refused)
		if strings.Join(dialled, " ") != want.dialled || strings.Join(refused, " ") != want.refused {
			t.Errorf("dialled %v, refused %v; want %+v", dialled, refused, want)
		}
	}
}

// A5: the name of a public host leads to a server of ours; nothing reaches it.
func TestA5RebindingReachesNobody(t *testing.T) {
	var asked atomic.Int32
	base := handle(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
	names := &fakeNames{answers: [][]string{{"127.0.0.1"}}}
	client := New(Options{Resolver: names.resolver()})
	r := request(t, "http://api.example.org:"+port)
	if _, err := client.Send(t.Context(), r); err != nil || asked.Load() != 1 {
		t.Fatalf("the name does not lead to the server: %v", err)
	}
	r.AllowPrivate = false
	if _, err := client.Send(t.Context(), r); fault.As(err).Code != fault.Refused || asked.Load() != 1 {
		t.Errorf("%v, %d requests arrived", err, asked.Load())
	}
}

// One client serves sources with and without permission: a connection that one
// of them opened is not there for the other (A5).
func TestA5PermissionIsNotInherited(t *testing.T) {
	base := handle(t, func(http.ResponseWriter, *http.Request) {})
	client := New(Options{})
	if _, err := client.Send(t.Context(), request(t, base)); err != nil {
		t.Fatal(err)
	}
	r := request(t, base)
	r.AllowPrivate = false
	if _, err := client.Send(t.Context(), r); fault.As(err).Code != fault.Refused {
		t.Errorf("the kept connection of another source was used: %v", err)
	}
}

// fakeNames is a name server that gives its answers in turn, the last one for ever.
type fakeNames struct {
	mu      sync.Mutex
	answers [][]string
	asked   int
}

func (f *fakeNames) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go f.serve(theirs)
		return ours, nil
	}}
}

// serve answers one question, in the framing of TCP.
func (f *fakeNames) serve(conn net.Conn) {
	defer conn.Close()
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return
	}
	question := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, question); err != nil {
		return
	}
	answer := f.answer(question)
	_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
}

func (f *fakeNames) answer(question []byte) []byte {
	const headerSize, typeA = 12, 1
	end := headerSize
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	kind := binary.BigEndian.Uint16(question[end+1:])
	var addresses []string
	if kind == typeA {
		f.mu.Lock()
		addresses = f.answers[min(f.asked, len(f.answers)-1)]
		f.asked++
		f.mu.Unlock()
	}
	out := slices.Clone(question[:2])
	out = append(out, 0x81, 0x80, 0, 1, 0, byte(len(addresses)), 0, 0, 0, 0)
	out = append(out, question[headerSize:end+5]...)
	for _, address := range addresses {
		ip := netip.MustParseAddr(address).As4()
		out = append(out, 0xc0, headerSize, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4)
		out = append(out, ip[:]...)
	}
	return out
}

package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/testkit/wiretap"
)

// patra runs a command line as it is.
func patra(args ...string) result {
	var out, err bytes.Buffer
	code := Main(context.Background(), args, &out, &err)
	return result{code, out.String(), err.String()}
}

const wirePassword = "canary-4711"

func serverConfig(t *testing.T, a *wiretap.Authority, host string) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(a.Issue("server", host))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

// A server elsewhere that has no TLS, or whose certificate nobody signed, hears
// neither the user nor the password.
func TestTrust03NoPasswordWithoutTLS(t *testing.T) {
	host := wiretap.Elsewhere(t)
	ours := wiretap.NewAuthority(t)
	for name, c := range map[string]struct {
		server  *tls.Config
		options string
		want    string
	}{
		"no TLS":              {nil, "", "does not offer TLS"},
		"no TLS, asked for":   {nil, "?tls=true", "does not offer TLS"},
		"unknown authority":   {serverConfig(t, wiretap.NewAuthority(t), host), "?ca=" + ours.File, "ca=FILE"},
		"another name":        {serverConfig(t, ours, "elsewhere.example"), "?ca=" + ours.File, "serverName="},
		"authority of others": {serverConfig(t, ours, host), "", "ca=FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			tap := wiretap.Listen(t, host, wiretap.MySQL(c.server))
			got := patra("status", "--db", "mysql://somebody:"+wirePassword+"@"+tap.Addr+"/patra"+c.options)
			if got.code != term.ExitUsage || !strings.Contains(got.err, c.want) || strings.Contains(got.err, wirePassword) {
				t.Errorf("exit %d: %s", got.code, got.err)
			}
			if heard := tap.Heard(); strings.Contains(heard, "somebody") || c.server == nil && heard != "" {
				t.Errorf("the server heard %q", heard)
			}
		})
	}
}

// The server that the address names gets the password, over TLS.
func TestTrust03TLSIsUsed(t *testing.T) {
	host := wiretap.Elsewhere(t)
	ours := wiretap.NewAuthority(t)
	tap := wiretap.Listen(t, host, wiretap.MySQL(serverConfig(t, ours, host)))
	got := patra("status", "--db", "mysql://somebody:"+wirePassword+"@"+tap.Addr+"/patra?ca="+ours.File)
	if got.code == term.ExitOK || !strings.Contains(got.err, "Access denied") || strings.Contains(tap.Heard(), "somebody") {
		t.Errorf("exit %d: %s; in plain text: %q", got.code, got.err, tap.Heard())
	}
}

// Who writes tls=off gets a plain connection and is told so, once.
func TestTrust03PlainTextIsWrittenOut(t *testing.T) {
	host := wiretap.Elsewhere(t)
	tap := wiretap.Listen(t, host, wiretap.MySQL(nil))
	got := patra("status", "--db", "mysql://somebody:"+wirePassword+"@"+tap.Addr+"/patra?tls=off")
	if got.code == term.ExitOK || !strings.Contains(got.err, "Access denied") || !strings.Contains(tap.Heard(), "somebody") {
		t.Errorf("exit %d: %s; heard %q", got.code, got.err, tap.Heard())
	}
	if n := strings.Count(got.err, "is not encrypted"); n != 1 {
		t.Errorf("warned %d times: %s", n, got.err)
	}
}

// What an address says and nobody understands is refused by its name.
func TestTrust03UnknownOptions(t *testing.T) {
	folder := t.TempDir()
	junk := filepath.Join(folder, "junk.pem")
	if err := os.WriteFile(junk, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	database := func(options string) []string {
		return []string{"status", "--db", "mysql://u:" + wirePassword + "@db.example/patra?" + options}
	}
	gate := func(address string) []string {
		return []string{"harvest", "crossref", "--set", "contact.email=a@example.org", "--db", "sqlite:" + filepath.Join(folder, "patra.db"), "--gate", address}
	}
	for want, args := range map[string][]string{
		`"sslmode" of the address is not known: did you mean tls? (known: ca, cert, key, serverName, socket, tls)`: database("sslmode=" + wirePassword),
		`"parseTime" of the address is not known (known:`:                                                          database("parseTime=true"),
		"tls=preferred: expected on or off":                                                                        database("tls=preferred"),
		"tls=skip-verify: expected on or off":                                                                      database("tls=skip-verify"),
		"exclude each other":                                                                                       database("tls=off&ca=x"),
		"name both":                                                                                                database("cert=x"),
		"twice":                                                                                                    database("tls=off&tls=on"),
		"no such file":                                                                                             database("ca=" + filepath.Join(folder, "none.pem")),
		"no certificate in PEM":                                                                                    database("ca=" + junk),
		"socket is a file of this machine":                                                                         database("socket=/run/s"),
		"write rediss://":                                                                                          gate("redis://:" + wirePassword + "@cache.example:6379/0"),
		`"skip_verify" of the address is not known`:                                                                gate("rediss://:" + wirePassword + "@cache.example:6380/0?skip_verify=true"),
		"keep one of them":                                                                                         gate("rediss://:" + wirePassword + "@cache.example:6380/0?tls=off"),
	} {
		got := patra(args...)
		if got.code != term.ExitUsage || !strings.Contains(got.err, want) || strings.Contains(got.err, wirePassword) {
			t.Errorf("%v: exit %d, want %q: %s", args[len(args)-1:], got.code, want, got.err)
		}
	}
}

// A NATS server elsewhere that says it has no TLS gets no token.
func TestTrust03NoTokenWithoutTLS(t *testing.T) {
	host := wiretap.Elsewhere(t)
	t.Setenv("BUS_TOKEN", wirePassword)
	tap := wiretap.Listen(t, host, func(conn net.Conn) {
		fmt.Fprintf(conn, "INFO {\"server_id\":\"tap\",\"version\":\"2.10.0\",\"proto\":1,\"headers\":true,\"auth_required\":true,\"max_payload\":1048576}\r\n")
		_, _ = io.Copy(io.Discard, conn)
	})
	declare := func(more string) string {
		path := filepath.Join(t.TempDir(), "events.yaml")
		text := "destinations:\n- name: bus\n  nats: {url: 'nats://" + tap.Addr + "', stream: S, token: env:BUS_TOKEN" + more + "}\nroutes: [{to: bus}]\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	trusted := func(path string) string {
		if got := patra("events", "trust", "--events", path, "--yes"); got.code != term.ExitOK {
			t.Fatal(got.err)
		}
		return path
	}
	got := patra("events", "test", "bus", "--events", trusted(declare("")))
	if got.code == term.ExitOK || !strings.Contains(got.err, "does not offer TLS") || strings.Contains(got.err, "not encrypted") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	if strings.Contains(tap.Heard(), "CONNECT") {
		t.Errorf("the server heard %q", tap.Heard())
	}
	got = patra("events", "test", "bus", "--events", trusted(declare(", tls: off")))
	if strings.Count(got.err, "is not encrypted") != 1 || !strings.Contains(tap.Heard(), wirePassword) {
		t.Errorf("exit %d: %s; heard %q", got.code, got.err, tap.Heard())
	}
	got = patra("events", "test", "bus", "--events", declare(", tls: maybe"))
	if got.code != term.ExitUsage || !strings.Contains(got.err, "expected on or off") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
}

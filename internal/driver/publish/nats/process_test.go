package nats

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/patra-ingest/patra/internal/testkit/outboxtest"
)

// serve is a real server that syncs what it acknowledges, as docs/events.md advises.
func serve(told string, ready func(address string)) {
	dir, port, _ := strings.Cut(told, "|")
	number, err := strconv.Atoi(port)
	if err != nil {
		panic(err)
	}
	run, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: number, JetStream: true, StoreDir: dir, SyncAlways: true, NoSigs: true, NoLog: true})
	if err != nil {
		panic(err)
	}
	run.Start()
	if !run.ReadyForConnections(time.Minute) {
		panic("the server did not start")
	}
	ready(run.Addr().String())
	run.WaitForShutdown()
}

func TestMain(m *testing.M) { outboxtest.Main(m, serve) }

// F45: the server is a process of its own that dies by kill -9, and comes back with
// what it had on disk.
func TestF45PublisherOfAServerThatIsKilled(t *testing.T) {
	outboxtest.Run(t, func(t *testing.T) outboxtest.Broker {
		dir := t.TempDir()
		var p outboxtest.Process
		p.Start(t, dir+"|-1")
		t.Cleanup(func() { p.Kill(t) })
		b := &broker{line: outboxtest.NewLine(t, p.Address)}
		on := func(t *testing.T, do func(jetstream.Stream)) {
			t.Helper()
			conn, err := nats.Connect("nats://"+p.Address, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			js, err := jetstream.New(conn)
			if err != nil {
				t.Fatal(err)
			}
			s, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "PATRA", Subjects: []string{"patra.>"}, Storage: jetstream.FileStorage, MaxMsgSize: largest})
			if err != nil {
				t.Fatal(err)
			}
			do(s)
		}
		count := func(t *testing.T) (n uint64) {
			t.Helper()
			on(t, func(s jetstream.Stream) { n = s.CachedInfo().State.Msgs })
			return n
		}
		count(t) // makes the stream
		_, port, _ := strings.Cut(p.Address, ":")
		before := uint64(0)
		return outboxtest.Broker{
			Open: func(t *testing.T) outboxtest.Publisher {
				if p.IsAlive() {
					return b.open(t)
				}
				published, err := Open(Options{URL: "nats://" + b.line.Addr, Stream: "PATRA", Subject: "patra.records"})
				if err != nil {
					t.Fatal(err)
				}
				return published
			},
			Received: func(t *testing.T) (out []outboxtest.Message) {
				on(t, func(s jetstream.Stream) {
					for n := range s.CachedInfo().State.Msgs {
						m, err := s.GetMsg(t.Context(), n+1)
						if err != nil {
							t.Fatal(err)
						}
						out = append(out, outboxtest.Message{ID: m.Header.Get(jetstream.MsgIDHeader), Bytes: m.Data})
					}
				})
				return out
			},
			Down: p.Kill,
			Up:   func(t *testing.T) { p.Start(t, dir+"|"+port) },
			Hold: func(t *testing.T) { before = count(t); b.line.Hold() },
			Free: func(*testing.T) { b.line.Free() },
			Reached: func(t *testing.T) {
				for count(t) == before {
				}
			},
			Double:   func(*testing.T) { b.line.Double(true) },
			Single:   func(*testing.T) { b.line.Double(false) },
			TooLarge: largest,
		}
	})
}

package nats

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/testkit/outboxtest"
)

// broker is a real server in this process that can be killed and started again
// with what it had on disk.
type broker struct {
	dir  string
	line *outboxtest.Line
	port int
	run  *server.Server
}

const largest = 64 << 10

func newBroker(t *testing.T) *broker {
	b := &broker{dir: t.TempDir(), port: -1}
	b.start(t)
	t.Cleanup(b.stop)
	b.line = outboxtest.NewLine(t, b.run.Addr().(*net.TCPAddr).String())
	js := b.direct(t)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "PATRA", Subjects: []string{"patra.>"}, Storage: jetstream.FileStorage, MaxMsgSize: largest}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *broker) start(t *testing.T) {
	t.Helper()
	run, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: b.port, JetStream: true, StoreDir: b.dir, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	run.Start()
	if !run.ReadyForConnections(time.Minute) {
		t.Fatal("the server did not start")
	}
	b.run, b.port = run, run.Addr().(*net.TCPAddr).Port
}

func (b *broker) stop() {
	b.run.Shutdown()
	b.run.WaitForShutdown()
}

// direct goes round the line.
func (b *broker) direct(t *testing.T) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(b.run.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func (b *broker) count(t *testing.T) uint64 {
	t.Helper()
	s, err := b.direct(t).Stream(t.Context(), "PATRA")
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

func (b *broker) received(t *testing.T) (out []outboxtest.Message) {
	t.Helper()
	s, err := b.direct(t).Stream(t.Context(), "PATRA")
	if err != nil {
		t.Fatal(err)
	}
	for n := range b.count(t) {
		m, err := s.GetMsg(t.Context(), n+1)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, outboxtest.Message{ID: m.Header.Get(jetstream.MsgIDHeader), Bytes: m.Data})
	}
	return out
}

func (b *broker) open(t *testing.T) *Publisher {
	t.Helper()
	p, err := Open(Options{URL: "nats://" + b.line.Addr, Stream: "PATRA", Subject: "patra.records"})
	if err != nil {
		t.Fatal(err)
	}
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for b.line.IsMended() && !p.conn.IsConnected() {
		<-again.C
	}
	return p
}

func TestPublisher(t *testing.T) {
	outboxtest.Run(t, func(t *testing.T) outboxtest.Broker {
		b := newBroker(t)
		var before uint64
		return outboxtest.Broker{
			Open:     func(t *testing.T) outboxtest.Publisher { return b.open(t) },
			Received: b.received,
			Down:     func(*testing.T) { b.line.Cut() },
			Up:       func(*testing.T) { b.line.Mend() },
			Hold:     func(t *testing.T) { before = b.count(t); b.line.Hold() },
			Free:     func(*testing.T) { b.line.Free() },
			Reached: func(t *testing.T) {
				for b.count(t) == before {
				}
			},
			Double:   func(*testing.T) { b.line.Double(true) },
			Single:   func(*testing.T) { b.line.Double(false) },
			TooLarge: largest,
		}
	})
}

// A server that was killed has what it acknowledged, and the publisher finds it
// again by itself.
func TestTheServerIsStartedAgain(t *testing.T) {
	b := newBroker(t)
	p := b.open(t)
	defer p.Close()
	one := event.Sealed{ID: "one", Source: "s", Endpoint: "e", Op: event.Inserted, Bytes: []byte(`{"id":"one"}`)}
	two := event.Sealed{ID: "two", Source: "s", Endpoint: "e", Op: event.Removed, Bytes: []byte(`{"id":"two"}`)}
	if err := p.Publish(t.Context(), []event.Sealed{one})[0]; err != nil {
		t.Fatal(err)
	}
	b.stop()
	if err := p.Publish(t.Context(), []event.Sealed{two})[0]; err == nil || outboxtest.IsRefusal(err) {
		t.Fatal(err)
	}
	b.start(t)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for p.Publish(t.Context(), []event.Sealed{two})[0] != nil {
		<-again.C
	}
	got := b.received(t)
	if len(got) != 2 || got[0].ID != "one" || got[1].ID != "two" {
		t.Errorf("%v", got)
	}
}

func TestTheStreamDropsWhatComesTwice(t *testing.T) {
	b := newBroker(t)
	p := b.open(t)
	defer p.Close()
	e := event.Sealed{ID: "one", Source: "s", Endpoint: "e", Op: event.Inserted, Bytes: []byte(`{"id":"one"}`)}
	for range 3 {
		if err := p.Publish(t.Context(), []event.Sealed{e})[0]; err != nil {
			t.Fatal(err)
		}
	}
	if n := b.count(t); n != 1 {
		t.Errorf("%d messages", n)
	}
}

func TestSubjectsHaveWordsOfOursOnly(t *testing.T) {
	p := &Publisher{options: Options{Subject: "patra.records"}}
	for source, want := range map[string]string{
		"crossref": "patra.records.crossref.works.inserted", "a.b": "patra.records.a_b.works.inserted", "*": "patra.records._.works.inserted",
		">": "patra.records._.works.inserted", "a b\n": "patra.records.a_b_.works.inserted", "": "patra.records._.works.inserted",
	} {
		if got := p.subjectOf(event.Sealed{Source: source, Endpoint: "works", Op: event.Inserted}); got != want {
			t.Errorf("%q: %s, want %s", source, got, want)
		}
	}
}

func TestAStreamThatIsNotThere(t *testing.T) {
	b := newBroker(t)
	p, err := Open(Options{URL: b.run.ClientURL(), Stream: "OTHER", Subject: "patra.records"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	err = p.Publish(t.Context(), []event.Sealed{{ID: "a", Source: "s", Endpoint: "e", Bytes: []byte("{}")}})[0]
	if err == nil || outboxtest.IsRefusal(err) || b.count(t) != 0 {
		t.Errorf("%v", err)
	}
}

func TestAServerThatIsNotThereIsSaidToBeAway(t *testing.T) {
	p, err := Open(Options{URL: "nats://127.0.0.1:1", Stream: "PATRA", Subject: "patra.records"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Publish(t.Context(), []event.Sealed{{ID: "a", Bytes: []byte("{}")}})[0]; err == nil || !strings.Contains(err.Error(), "no server answers") {
		t.Error(err)
	}
}

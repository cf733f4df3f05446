package bench

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	natsclient "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/driver/publish/jsonl"
	"github.com/patra-ingest/patra/internal/driver/publish/nats"
	"github.com/patra-ingest/patra/internal/engine/outbox"
)

// relayRound is how many events are relayed in one round. Commits that write them
// are not part of the figure.
const relayRound = 5000

// benchRelay measures the relay from the outbox to a receiver: read, seal, publish,
// mark. The reference writes lines of the same size to a file and syncs it as often:
// what nobody can do without. Events per second of processor time are those of one
// core, whatever else the machine does.
func benchRelay(b *testing.B, k kind, out *table) {
	b.Run("jsonl", func(b *testing.B) {
		p, err := jsonl.Open(b.TempDir(), jsonl.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = p.Close() })
		benchRelayTo(b, k, out, "JSONL", p)
	})
	b.Run("nats", func(b *testing.B) { benchRelayTo(b, k, out, "NATS JetStream, server included", startNATS(b)) })
}

func benchRelayTo(b *testing.B, k kind, out *table, name string, p outbox.Publisher) {
	c := newCommitter(b, k.fresh(b).open(b, false))
	relay := outbox.New(c.store, func(string, string, event.Op) (string, bool) { return "to", true },
		map[string]outbox.Destination{"to": {Form: event.Form{MaxBytes: 512 << 10}, Publisher: p}}, outbox.Config{Owner: "bench", Lease: time.Minute}, slog.New(slog.DiscardHandler))
	lines := newLines(b)
	var ours, bare samples
	repeat(b, 3, func() {
		for range relayRound / batchSize {
			if err := c.commit(b.Context(), c.renamed()); err != nil {
				b.Fatal(err)
			}
		}
		ours.time(b, func() error { return drained(b.Context(), relay) })
		bare.time(b, lines.write)
	})
	wall, processor := ours.over(bare)
	perSecond := float64(relayRound*len(ours.wall)) / ours.cpu.Seconds()
	out.add(b, line{
		what: fmt.Sprintf("relay %d events of 2 KB from %s to %s (mean / p95)", relayRound, k.name, name), ours: ours.String(), reference: bare.String(), ratio: wall,
		reads: fmt.Sprintf("our time / bare file; by processor time %.2f: %.0f events/s of one core, %.0f by the clock", processor, perSecond, relayRound/ours.mean().Seconds()),
	})
	b.ReportMetric(perSecond, "events/cpu-s")
}

func drained(ctx context.Context, r *outbox.Relay) error {
	sum := 0
	for {
		n, err := r.Once(ctx)
		if sum += n; err != nil || n == 0 {
			if err == nil && sum != relayRound {
				err = fmt.Errorf("%d events were relayed, want %d", sum, relayRound)
			}
			return err
		}
	}
}

// lines is the bare file.
type lines struct {
	file *os.File
	line []byte
}

func newLines(b *testing.B) *lines {
	f, err := os.Create(filepath.Join(b.TempDir(), "lines"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	line := make([]byte, 2600)
	for i := range line {
		line[i] = 'x'
	}
	return &lines{f, append(line, '\n')}
}

func (l *lines) write() error {
	w := bufio.NewWriter(l.file)
	for i := range relayRound {
		if _, err := w.Write(l.line); err != nil {
			return err
		}
		if i%1000 == 999 {
			if err := w.Flush(); err != nil {
				return err
			}
			if err := l.file.Sync(); err != nil {
				return err
			}
		}
	}
	return nil
}

// startNATS runs a server in this process, with a stream on disk.
func startNATS(b *testing.B) *nats.Publisher {
	b.Helper()
	server, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: b.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		b.Fatal(err)
	}
	server.Start()
	b.Cleanup(func() { server.Shutdown(); server.WaitForShutdown() })
	if !server.ReadyForConnections(time.Minute) {
		b.Fatal("the server did not start")
	}
	conn, err := natsclient.Connect(server.ClientURL())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "PATRA", Subjects: []string{"patra.>"}, Storage: jetstream.FileStorage}); err != nil {
		b.Fatal(err)
	}
	p, err := nats.Open(nats.Options{URL: server.ClientURL(), Stream: "PATRA", Subject: "patra.records"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close() })
	return p
}

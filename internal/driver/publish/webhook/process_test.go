package webhook

import (
	"bytes"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/outboxtest"
)

// serve is a receiver that syncs each event to a file before it says that it has it.
func serve(told string, ready func(address string)) {
	dir, address, _ := strings.Cut(told, "|")
	listen, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	file, err := os.OpenFile(filepath.Join(dir, "received"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	ready(listen.Addr().String())
	panic(http.Serve(listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		refused, _ := os.ReadFile(filepath.Join(dir, "refuse"))
		switch id := r.Header.Get("Webhook-Id"); {
		case err != nil:
			return
		case id == string(refused):
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		case len(body) > largest:
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		default: // one write: a killed process leaves whole lines
			_, err = file.WriteString("\n" + id + " " + base64.StdEncoding.EncodeToString(body) + " .")
		}
		if err != nil || file.Sync() != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})))
}

func TestMain(m *testing.M) { outboxtest.Main(m, serve) }

// F45: the receiver is a process of its own that dies by kill -9, and comes back.
func TestF45PublisherOfAReceiverThatIsKilled(t *testing.T) {
	outboxtest.Run(t, func(t *testing.T) outboxtest.Broker {
		dir := t.TempDir()
		var p outboxtest.Process
		p.Start(t, dir+"|127.0.0.1:0")
		t.Cleanup(func() { p.Kill(t) })
		line := outboxtest.NewLine(t, p.Address)
		received := func(t *testing.T) (out []outboxtest.Message) {
			t.Helper()
			text, err := os.ReadFile(filepath.Join(dir, "received"))
			if err != nil {
				t.Fatal(err)
			}
			for row := range bytes.Lines(text) {
				parts := strings.Fields(string(row))
				if len(parts) != 3 {
					continue
				}
				body, err := base64.StdEncoding.DecodeString(parts[1])
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, outboxtest.Message{ID: parts[0], Bytes: body})
			}
			return out
		}
		before := 0
		r := &receiver{t: t, line: line}
		return outboxtest.Broker{
			Open:     func(t *testing.T) outboxtest.Publisher { return r.open(t) },
			Received: received,
			Down:     p.Kill,
			Up:       func(t *testing.T) { p.Start(t, dir+"|"+p.Address) },
			Hold:     func(t *testing.T) { before = len(received(t)); line.Hold() },
			Free:     func(*testing.T) { line.Free() },
			Reached: func(t *testing.T) {
				for len(received(t)) == before {
				}
			},
			TooLarge: largest,
			Refuse: func(t *testing.T, id string) {
				if err := os.WriteFile(filepath.Join(dir, "refuse"), []byte(id), 0o600); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

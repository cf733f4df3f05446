package executor

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/driver/secrets"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// misleading changes the address of the next page in the answers of an upstream,
// in body and Link header, while it is asked to.
type misleading struct {
	next transport.Sender
	lie  func(text string) string // nil: the truth
	told int
}

func (m *misleading) Send(ctx context.Context, r *exchange.Request) (*exchange.Response, error) {
	answer, err := m.next.Send(ctx, r)
	if m.told++; err != nil || m.lie == nil || m.told < 2 {
		return answer, err
	}
	answer.Body = []byte(m.lie(string(answer.Body)))
	if link := answer.Header.Get("Link"); link != "" {
		answer.Header.Set("Link", m.lie(link))
	}
	return answer, nil
}

// A1, A2, A3: an upstream that leads elsewhere stops its endpoint. Nothing is
// sent there, nothing counts as read, and when the upstream is mended the task
// can be run again.
func TestA1A2A3UpstreamThatLeadsElsewhere(t *testing.T) {
	var reached atomic.Int32
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer evil.Close()
	for _, form := range []string{"links", "links-header"} {
		for attack, to := range map[string]func(base string) string{
			"A1 other host and port": func(string) string { return evil.URL },
			"A1 no scheme":           func(string) string { return strings.TrimPrefix(evil.URL, "http:") },
			"A2 other scheme":        func(base string) string { return "https" + strings.TrimPrefix(base, "http") },
			"A2 user":                func(base string) string { return strings.Replace(base, "://", "://me:hunter2@", 1) },
			"A2 backslash":           func(string) string { return strings.ReplaceAll(evil.URL, "/", `\`) },
			"A3 up the path":         func(base string) string { return base + "/%2e%2e" },
		} {
			t.Run(form+"/"+attack, func(t *testing.T) {
				w := startForm(t, formNamed(t, form), 45, "")
				base := w.server.URL()
				up := &misleading{next: httpclient.New(httpclient.Options{}), lie: func(text string) string { return strings.ReplaceAll(text, base, inJSONText(form, to(base))) }}
				w.chain = transport.StackSigned(up, secrets.Limited{}, rategate.New())
				w.harvest()
				if out := w.outcomes[0]; len(w.outcomes) != 1 || out.Task != ingest.TaskFailed || out.Code != "REFUSED" || out.Stats.Inserted != 20 || strings.Contains(out.Error, "hunter2") {
					t.Errorf("%s", w.story())
				}
				partition := ingest.Partition{Dataset: w.compiled.Snapshot.Dataset(), Operation: ingest.Harvest}
				pause, paused, err := w.store.Paused(t.Context(), partition)
				if err != nil || !paused || reached.Load() != 0 || w.server.Requests() != 2 {
					t.Fatalf("paused %v, %d requests elsewhere, %d here: %v", paused, reached.Load(), w.server.Requests(), err)
				}
				w.honest()

				up.lie = nil
				act := ingest.Act{Actor: "ann", Reason: "they mended it"}
				_, _, err = w.store.ResumeSource(t.Context(), pause.Scope, act)
				w.must(err)
				_, _, err = w.store.RetryTasks(t.Context(), ingest.TaskPick{IDs: []int64{1}}, act)
				w.must(err)
				w.work()
				w.whole()
				if w.server.Requests() != 2+5 {
					t.Errorf("%d requests\n  %s", w.server.Requests(), w.story())
				}
			})
		}
	}
}

// inJSONText is a text as it stands in the body of a form, or in its header.
func inJSONText(form, text string) string {
	if form == "links-header" {
		return text
	}
	return strings.ReplaceAll(text, `\`, `\\`)
}

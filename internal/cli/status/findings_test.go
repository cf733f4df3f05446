package status

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// findingCodes reads the kinds of findings from their source, so that a new one cannot
// be forgotten.
func findingCodes(t *testing.T) (out []view.FindingCode) {
	tree, err := parser.ParseFile(token.NewFileSet(), "../../core/view/finding.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "FindingCode" {
			out = append(out, view.FindingCode(strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)))
		}
		return true
	})
	if len(out) < 20 {
		t.Fatalf("only %d kinds were found: the source was not really read", len(out))
	}
	return out
}

// Every finding is said in words and about something: a code alone helps nobody.
func TestEveryFindingHasItsSentence(t *testing.T) {
	for _, code := range findingCodes(t) {
		f := view.Finding{
			Code: code, Subject: view.Subject{Source: "shelf", Endpoint: "works"}, Count: 1, Windows: []window.Window{{From: march(1), To: march(2)}}, Gap: &view.Gap{},
			Task: &view.Task{}, Restarted: &view.StartedOver{}, Pause: &ingest.Pause{Scope: ingest.Scope{Source: "shelf"}}, Condition: &view.Condition{Source: "shelf", Condition: "SLOW"},
			Doubt: &view.Doubt{Source: "shelf", Held: "12 records vanished at once"}, Backlog: &view.Backlog{}, Receiver: &view.Away{}, Check: &integrity.Last{}, Untrusted: &trust.Stopped{What: "source shelf"}, Late: &view.Late{FreshTo: march(1)}, Ahead: &view.AheadOfClock{Watermark: march(1), AsOf: march(2), ReadFrom: march(1)},
			Work: &view.WorkSum{}, Undelivered: &view.Undelivered{Receiver: "mail"}, Differs: &view.CursorDiffers{}, Disk: &view.Disk{Path: "/srv"}, Raw: &view.RawRoom{Dir: "/srv/raw"},
			Short: []view.CountCheck{{Reconciled: view.Reconciled{Window: window.Window{From: march(1), To: march(2)}, Upstream: new(int64), Read: new(int64)}}},
			Thin:  []view.ThinDay{{Window: window.Window{From: march(1), To: march(2)}, Items: 3, Usual: 200}},
			Queue: &view.Queue{Source: "shelf"},
			Held:  &view.HeldPlan{ID: 3, Partition: ingest.Partition{Dataset: ingest.Dataset{Source: "shelf", Endpoint: "works"}, Operation: ingest.Harvest}, Limit: ingest.RequestLimit{Max: 5, Taken: 5}},
			Gone:  &view.Gone{Process: view.Process{Host: "attic", PID: 7}, Missing: []string{"executor"}},
		}
		text := wording.FindingText(f, march(9))
		if text == "" || text == string(code) || wording.FindingAbout(f) == "" {
			t.Errorf("%s: %q about %q", code, text, wording.FindingAbout(f))
		}
		if _, err := json.Marshal(f); err != nil {
			t.Errorf("%s: %v", code, err)
		}
		if code.Severity() == "" {
			t.Errorf("%s has no severity", code)
		}
		if done := f.Complete(threshold.Default(), march(9)); done.Next == "" || !strings.Contains(newStatusFinding(done, march(9)).Text, done.Next) {
			t.Errorf("%s: the command %q is not told", code, done.Next)
		}
	}
}

// Of many gaps of an endpoint and of many slices that start over only the first are
// told one by one.
func TestManyFindingsAlikeAreCounted(t *testing.T) {
	var all []view.Finding
	for n := range 5 {
		for _, endpoint := range []string{"a", "b"} {
			all = append(all, view.Finding{Code: view.FoundGap, Subject: view.Subject{Source: "s", Endpoint: endpoint}, Gap: &view.Gap{Window: window.Window{From: march(n + 1), To: march(n + 2)}}})
		}
		all = append(all, view.Finding{Code: view.FoundStartedOver, Subject: view.Subject{Source: "s", Endpoint: "a"}, Restarted: &view.StartedOver{}})
	}
	var got []string
	for _, line := range findingLines(all, time.Time{}) {
		got = append(got, line.About+": "+line.Text)
	}
	text := strings.Join(got, "\n")
	for want, times := range map[string]int{"s/a: gap ": 3, "s/b: gap ": 3, "s/a: 2 gaps more; `patra coverage gaps s`": 1, "s/b: 2 gaps more;": 1, "s/a: the slice ": 3, "queue: 2 slices more": 1} {
		if n := strings.Count(text, want); n != times {
			t.Errorf("%d times %q, want %d:\n%s", n, want, times, text)
		}
	}
}

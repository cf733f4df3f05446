package replay_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

func formNamed(t *testing.T, name string) simulated.Form {
	t.Helper()
	for _, f := range simulated.Forms() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no form %s", name)
	return simulated.Form{}
}

// An id that poisons its batch, and one that vanished between search and details:
// what a batch accounts for beside its answer is not taken for a difference.
func TestDetailsThatDidNotCome(t *testing.T) {
	data := dataset(60)
	var ids []string
	for truth := range data.Heads() {
		ids = append(ids, truth.DOI)
	}
	_, compiled := formNamed(t, "search").Start(t, data, "500@path:/forms/records:id="+ids[17]+";withhold@path:/forms/records:id="+ids[40])
	w := harvested(t, compiled)
	aside, err := w.store().Quarantine(t.Context(), compiled.Snapshot.Source, 0, 10)
	if err != nil || len(aside) == 0 {
		t.Fatalf("nothing was set aside (%v): nothing is proved", err)
	}
	w.pure(func() {
		for _, b := range w.batches() {
			if b.Raw != "" || b.Status == "SUCCEEDED" {
				w.same(w.replay(b.ID, daemon.ReplayOptions{}))
			}
		}
	})
}

// A page that could not be understood fails again in the same words; one that
// never came has no body, and that is said.
func TestFailedBatches(t *testing.T) {
	for faults, want := range map[string]string{"html-200@*": "", "500@*": "HTTP 500", "reset@*": "no answer came"} {
		_, compiled := simulated.Crossref(t, dataset(30), faults, "retry.maxAttempts=2", "retry.taskAttempts=1")
		w := harvested(t, compiled)
		failed := 0
		for _, b := range w.batches() {
			if b.Status != "FAILED" {
				continue
			}
			failed++
			report, err := w.app.Replays.Replay(t.Context(), daemon.BatchRef{BatchID: b.ID}, daemon.ReplayOptions{From: daemon.ReplayRaw, At: time.Now()})
			switch {
			case want != "":
				if !errors.Is(err, fault.ErrNotFound) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v", faults, err)
				}
			case err != nil:
				t.Errorf("%s: %v", faults, err)
			default:
				w.same(report)
			}
		}
		if failed == 0 {
			t.Errorf("%s: nothing failed", faults)
		}
	}
}

// What changed upstream is the source's doing: added, changed and missing records
// with their fields. The kept body still says what the ledger says.
func TestUpstreamChanges(t *testing.T) {
	data := dataset(30)
	_, compiled := formNamed(t, "offset").Start(t, data, "")
	w := harvested(t, compiled)
	first := w.batches()[0]
	w.pureAsking(func() { w.same(w.replay(first.ID, daemon.ReplayOptions{From: daemon.ReplayUpstream})) })

	box, err := w.store().Box(t.Context(), first.ID)
	if err != nil {
		t.Fatal(err)
	}
	changed, gone := box.Written[0].ID, box.Written[1].ID
	truth, _ := data.Lookup(changed)
	if err := data.Touch(changed, truth.Indexed, true); err != nil {
		t.Fatal(err)
	}
	if err := data.Remove(gone); err != nil {
		t.Fatal(err)
	}
	var report *blackbox.Report
	w.pureAsking(func() { report = w.replay(first.ID, daemon.ReplayOptions{From: daemon.ReplayUpstream}) })
	if report.Identical || report.Blames(blackbox.Ours) || !report.Blames(blackbox.Source) || report.Requests == 0 {
		t.Errorf("%+v", report)
	}
	got := map[string]blackbox.RecordChange{}
	for _, c := range report.Records {
		got[strings.ToLower(c.ID)] = c
	}
	if c := got[strings.ToLower(changed)]; c.Change != blackbox.Changed || len(c.Fields) == 0 {
		t.Errorf("%s: %+v", changed, c)
	}
	if c := got[strings.ToLower(gone)]; c.Change != blackbox.Missing {
		t.Errorf("%s: %+v", gone, c)
	}
	if added, _, _ := report.Count(); added != 1 { // the page is full: the next item moved up
		t.Errorf("%d added: %+v", added, report.Records)
	}
	w.same(w.replay(first.ID, daemon.ReplayOptions{}))

	// Without the kept body the ledger itself is compared.
	if err := os.RemoveAll(w.app.Bodies.Dir()); err != nil {
		t.Fatal(err)
	}
	again := w.replay(first.ID, daemon.ReplayOptions{From: daemon.ReplayUpstream})
	if again.Identical || !again.Blames(blackbox.Source) || again.Blames(blackbox.Ours) || len(again.Notes) == 0 {
		t.Errorf("%+v", again)
	}
}

// A token that works once is never sent twice: the page is reached by walking.
func TestDeadTokenIsWalkedTo(t *testing.T) {
	server, compiled := simulated.Crossref(t, dataset(60), "", "paging.size=20")
	w := harvested(t, compiled)
	list := w.batches()
	second := list[slices.IndexFunc(list, func(b view.Batch) bool { return b.Page == 2 })]
	asked := server.Requests()
	_, err := w.app.Replays.Replay(t.Context(), daemon.BatchRef{BatchID: second.ID}, daemon.ReplayOptions{From: daemon.ReplayUpstream, At: time.Now()})
	if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "--refresh-expired") || server.Requests() != asked {
		t.Errorf("%v, %d requests", err, server.Requests()-asked)
	}
	report := w.replay(second.ID, daemon.ReplayOptions{From: daemon.ReplayUpstream, Refresh: true})
	w.same(report)
	if report.Requests != 2 || server.Requests() != asked+2 {
		t.Errorf("%d requests", report.Requests)
	}
}

// An upstream that answers with an error today differs; one that does not answer
// at all is an error.
func TestUpstreamInTrouble(t *testing.T) {
	server, compiled := simulated.Crossref(t, dataset(30), "", "retry.maxAttempts=2")
	w := harvested(t, compiled)
	first := w.batches()[0]
	list, err := upsim.ParseFaults("500@*")
	if err == nil {
		err = server.SetFaults(list)
	}
	if err != nil {
		t.Fatal(err)
	}
	report := w.replay(first.ID, daemon.ReplayOptions{From: daemon.ReplayUpstream})
	if report.Identical || report.Blames(blackbox.Ours) || report.Differences[0].What != "status" || report.Differences[0].Is != "500" {
		t.Errorf("%+v", report.Differences)
	}
	server.Close()
	_, err = w.app.Replays.Replay(t.Context(), daemon.BatchRef{BatchID: first.ID}, daemon.ReplayOptions{From: daemon.ReplayUpstream, At: time.Now()})
	if fault.As(err).Code != fault.Network {
		t.Errorf("%v", err)
	}
}

// What is declared otherwise now is ours, field by field.
func TestMappingChanges(t *testing.T) {
	data := dataset(30)
	server, then := simulated.Crossref(t, data, "")
	w := harvested(t, then)
	_, now := simulated.Crossref(t, data, "", "http.baseUrl="+server.URL(), "response.fields.publisher=$.DOI", "response.fields.extra=$.type")
	var report *blackbox.Report
	w.pure(func() { report = w.replay(w.batches()[0].ID, daemon.ReplayOptions{Now: &now.Snapshot}) })
	if report.Identical || report.Blames(blackbox.Source) || !report.Blames(blackbox.Ours) || len(report.Differences) != 0 || report.SpecNow != now.Fingerprint {
		t.Fatalf("%+v", report)
	}
	_, changed, _ := report.Count()
	if changed != report.Seen || changed == 0 {
		t.Errorf("%d of %d changed", changed, report.Seen)
	}
	for _, c := range report.Records {
		names := []string{}
		for _, f := range c.Fields {
			names = append(names, f.Name)
		}
		if fmt.Sprint(names) != "[extra publisher]" || c.Fields[0].Was != nil || c.Fields[0].Is == nil {
			t.Errorf("%+v", c)
		}
	}
}

// A body that is gone is said to be, with since when and why.
func TestBodyGone(t *testing.T) {
	_, compiled := simulated.Crossref(t, dataset(20), "")
	w := harvested(t, compiled)
	if err := os.RemoveAll(w.app.Bodies.Dir()); err != nil {
		t.Fatal(err)
	}
	_, err := w.app.Replays.Replay(t.Context(), daemon.BatchRef{RunID: 1, No: 1}, daemon.ReplayOptions{From: daemon.ReplayRaw, At: time.Now()})
	if !errors.Is(err, fault.ErrNotFound) || !strings.Contains(err.Error(), "until") || !strings.Contains(err.Error(), "720h") {
		t.Errorf("%v", err)
	}
}

package trial_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/engine/trial"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

var day = window.Window{From: time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 3, 4, 0, 0, 0, 0, time.UTC)}

// upstream is a simulated Crossref and the program that reads it.
func upstream(t *testing.T, faults string) *spec.Program {
	t.Helper()
	_, c := simulated.Crossref(t, upsim.NewDataset(upsim.Config{Seed: 1, PerDay: 60, Flat: true, From: day.From, To: day.To}), faults, "paging.size=25")
	program, err := c.Snapshot.Program()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func try(t *testing.T, p *spec.Program, page int) (*trial.Result, error) {
	t.Helper()
	chain := transport.StackSigned(httpclient.New(httpclient.Options{}), nil, rategate.New())
	return trial.Run(t.Context(), chain, p, trial.Request{Window: day, Page: page, Now: day.To})
}

func TestEveryPageIsExplained(t *testing.T) {
	program := upstream(t, "")
	for page, want := range map[int]struct {
		items int
		done  bool
		why   string
	}{1: {25, false, "next token"}, 2: {25, false, "next token"}, 3: {10, true, "short page"}} {
		got, err := try(t, program, page)
		if err != nil {
			t.Fatal(err)
		}
		if got.Page != page || got.Seen != want.items || got.Decision.Done != want.done || got.Decision.Why != want.why || *got.Total != 60 {
			t.Errorf("page %d: %+v, %+v", page, got, got.Decision)
		}
		if len(got.Records) != 3 || got.Records[0].ID == "" || !json.Valid(got.Records[0].Fields) || got.Response.Status != 200 {
			t.Errorf("page %d: %+v", page, got)
		}
		if !strings.Contains(got.Request.URL, "from-index-date%3A2025-03-03T00%3A00%3A00%2Cuntil-index-date%3A2025-03-03T23%3A59%3A59") {
			t.Errorf("asked %s", got.Request.URL)
		}
		if (got.Decision.Next != "") == want.done {
			t.Errorf("page %d: next is %q", page, got.Decision.Next)
		}
	}
}

func TestPageBeyondTheEnd(t *testing.T) {
	program := upstream(t, "")
	got, err := try(t, program, 4)
	if !errors.Is(err, fault.ErrNotFound) || !strings.Contains(err.Error(), "page 3") || got == nil || got.Page != 3 {
		t.Errorf("%v, %+v", err, got)
	}
}

// What was tried is shown also when it failed.
func TestFailureShowsWhatWasTried(t *testing.T) {
	program := upstream(t, "500@*")
	got, err := try(t, program, 1)
	var f *fault.Error
	if !errors.As(err, &f) || f.Status != 500 {
		t.Fatalf("%v", err)
	}
	if got == nil || got.Request.URL == "" || got.Response.Status != 500 || got.Attempts != program.Retry.MaxAttempts || got.Decision != nil {
		t.Errorf("%+v", got)
	}
}

// A trial says of details that are about other ids what a run would say.
func TestBelieve11TrialRefusesOtherRecords(t *testing.T) {
	for _, lies := range []bool{true, false} {
		for _, f := range simulated.Forms() {
			if f.Name != "search" {
				continue
			}
			f.Options.Forms.Lies.OtherRecords = lies
			_, c := f.Start(t, upsim.NewDataset(upsim.Config{Seed: 1, PerDay: 30, Flat: true, From: day.From, To: day.To}), "")
			program, err := c.Snapshot.Program()
			if err != nil {
				t.Fatal(err)
			}
			result, err := try(t, program, 1)
			if refused := err != nil && fault.As(err).Code == fault.BadBody && strings.Contains(err.Error(), "none of the"); refused != lies || result.Detail == nil {
				t.Errorf("lies %v: %v, detail %+v", lies, err, result.Detail)
			}
		}
	}
}

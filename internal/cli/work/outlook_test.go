package work

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/daemon"
)

// The forecast names what it rests on.
func TestOutlook(t *testing.T) {
	figure := func(value float64, source slicing.Source) slicing.Figure {
		return slicing.Figure{Value: value, Source: source}
	}
	seconds, bytes, history, money := figure(3661, slicing.FromCount), figure(3e9, slicing.FromConstant), figure(2048, slicing.FromConstant), figure(2.5, slicing.FromCount)
	draft := &daemon.PlanDraft{Slices: make([]daemon.DraftSlice, 2), Forecast: slicing.Outlook{
		Slices: 2, Items: figure(1500, slicing.FromCount), Requests: figure(32, slicing.FromCount),
		Endpoints: []slicing.EndpointOutlook{{Endpoint: "find", Role: "SEARCH", Requests: figure(2, slicing.FromCount)}, {Endpoint: "read", Role: "DETAIL", Requests: figure(30, slicing.FromCount)}},
		Seconds:   &seconds, Bytes: &bytes, ItemBytes: &history, Money: &money,
	}}
	got := strings.Join(outlookLines(draft), "\n")
	for _, want := range []string{
		"requests  32 = SEARCH find 2 + DETAIL read 30 (counted by the upstream)", "items     1500 (counted by the upstream)",
		"duration  1h1m1s at the declared rate", "bytes     3GB (2048 an item assumed: nothing was read yet)", "price     2.50",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	history.Source = slicing.FromHistory
	if got := strings.Join(outlookLines(draft), "\n"); !strings.Contains(got, "(2048 an item in earlier slices)") {
		t.Error(got)
	}
	draft.Source, draft.Operation, draft.Forecast.Requests = "crossref", ingest.Harvest, slicing.Figure{Value: 2, AtLeast: true}
	if got, want := outlookLines(draft)[0], "requests  at least 2 = SEARCH find 2 + DETAIL read 30 (sizes are not known; `patra plan crossref --op HARVEST --dry-run --count` asks the upstream)"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	draft.Untold = true // --count would not help
	if got, want := outlookLines(draft)[0], "(sizes are not known: the upstream was asked and did not tell; `patra source test crossref` sends one request and shows the answer)"; !strings.Contains(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if outlookLines(&daemon.PlanDraft{}) != nil {
		t.Error("an outlook of nothing")
	}
}

package worklog

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/privacy"
)

func TestLineOfARun(t *testing.T) {
	var out bytes.Buffer
	w := ingest.Work{
		Lease:     ingest.Lease{TaskID: 4},
		Lineage:   ingest.Lineage{ScheduleID: 1, PlanID: 2, SliceID: 3, TaskID: 4},
		Partition: ingest.Partition{Dataset: ingest.Dataset{Source: "crossref", Endpoint: "works"}, Operation: ingest.Harvest},
	}
	AtBatch(OfRun(slog.New(slog.NewJSONHandler(&out, nil)), w, 5), 5, 6, 7).Info("said")
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "time")
	want := map[string]any{
		"level": "INFO", "msg": "said", "source": "crossref", "endpoint": "works", "operation": "HARVEST",
		"trigger": 1., "plan": 2., "slice": 3., "task": 4., "run": 5., "batch": 6., "correlationId": "ing-5-7",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

// Whoever looks for a request in two logs needs its id as it was sent.
func TestCorrelationIsNotTakenForAPerson(t *testing.T) {
	for _, run := range []int64{1, 4711, 13_812_345_678, 491_512_345_678, 110_105_194_912_310_021} {
		if id := CorrelationID(run, 12345); privacy.Mask(id) != id {
			t.Errorf("%s is written as %s", id, privacy.Mask(id))
		}
	}
}

// One of a hundred is one of a hundred, also of ids that follow each other.
func TestSampled(t *testing.T) {
	const ids = 100_000
	for _, share := range []*float64{nil, new(0.0), new(0.25), new(1.0)} {
		n, want := 0, DefaultSample*ids
		if share != nil {
			want = *share * ids
		}
		for id := range int64(ids) {
			if Sampled(id, share) {
				n++
			}
		}
		if off := float64(n) - want; off > ids/200 || off < -ids/200 || (want == 0 || want == ids) && off != 0 {
			t.Errorf("%d of %d, want %v", n, ids, want)
		}
	}
}

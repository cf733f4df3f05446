package storetest

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// harvest describes a plan over whole days of March 2025. The zero value is the
// first three days of crossref's works, read as of noon.
type harvest struct {
	source    string
	operation ingest.Operation
	trigger   string // plans with different triggers are different plans
	first     int    // day of March, from 1
	days      int
	asOf      time.Time
	lookback  time.Duration
	priority  int
	due       time.Time // zero: at once
	empty     bool
	lag       *ingest.PlanLag

	reserved float64 // by each slice
	rateKey  string
}

const day = 24 * time.Hour

func (h harvest) filled() harvest {
	if h.source == "" {
		h.source = "crossref"
	}
	if h.operation == "" {
		h.operation = ingest.Harvest
	}
	if h.first == 0 {
		h.first = 1
	}
	if h.days == 0 {
		h.days = 3
	}
	if h.asOf.IsZero() {
		h.asOf = noon
	}
	if h.priority == 0 {
		h.priority = h.operation.Priority()
	}
	return h
}

// march is the half-open stretch from one day of March 2025 to another.
func march(from, to int) window.Window {
	return window.Window{From: midnight(from), To: midnight(to)}
}

func midnight(ofMarch int) time.Time { return time.Date(2025, 3, ofMarch, 0, 0, 0, 0, time.UTC) }

func (h harvest) window() window.Window { h = h.filled(); return march(h.first, h.first+h.days) }

func (h harvest) partition() ingest.Partition {
	h = h.filled()
	return ingest.Partition{Dataset: ingest.Dataset{Source: h.source, Endpoint: "works"}, Operation: h.operation}
}

const everything = "every work" // the harvests' query

func (h harvest) namespace() ingest.Namespace {
	n := ingest.HarvestNamespace(h.partition().Dataset, "indexed", fingerprint.Key(everything))
	n.Operation = h.partition().Operation
	return n
}

func (h harvest) newTrigger() ingest.Trigger {
	h = h.filled()
	return ingest.Trigger{
		Key: fingerprint.Key(h.source, h.trigger), Scheduler: "cron", Type: ingest.TriggerSchedule, At: noon, Source: h.source,
		Params: []byte(`{"trigger":"` + h.trigger + `"}`),
	}
}

func (h harvest) newPlan(scheduleID int64) ingest.NewPlan {
	h = h.filled()
	p := ingest.NewPlan{
		Key:        fingerprint.Key(h.source, string(h.operation), h.trigger, h.window().String()),
		ScheduleID: scheduleID, Partition: h.partition(), Window: h.window(), AsOf: h.asOf, Lookback: h.lookback,
		Owed: []window.Window{h.window()}, Namespace: h.namespace(),
		ExprProtoHash: fingerprint.Key(everything), ExprProto: []byte(`{"all":[]}`), MappingHash: fingerprint.Key("mapping"),
		SpecFingerprint: fingerprint.Key("spec", h.source), Spec: []byte(`{"source":"` + h.source + `"}`),
		ConfigHash: fingerprint.Key("config", h.source), Strategy: "TIME", SliceParams: []byte(`{"step":"1d"}`), Remarks: []byte(`{"why":"test"}`), Lag: h.lag,
		RateKey: h.rateKey,
	}
	if h.empty {
		p.Empty, p.Window, p.Owed = true, window.Window{}, nil
	}
	return p
}

// newSlices are the days of the plan, one slice a day.
func (h harvest) newSlices() []ingest.NewSlice {
	h = h.filled()
	planKey := h.newPlan(0).Key
	var out []ingest.NewSlice
	for i := range h.days {
		w := march(h.first+i, h.first+i+1)
		signature := fingerprint.Key(h.source, w.String())
		out = append(out, ingest.NewSlice{
			No: i + 1, Signature: signature, Window: w, Spec: []byte(fmt.Sprintf(`{"day":%d}`, h.first+i)),
			ExprHash: fingerprint.Key(everything, w.String()), Expr: []byte(`{"all":["day"]}`),
			TaskKey: fingerprint.Key(planKey, signature), TaskParams: []byte(`{"p":1}`), Priority: h.priority, ScheduledAt: h.due, Reserved: h.reserved,
		})
	}
	return out
}

// open stores the trigger and the plan, no slices yet.
func (w *world) open(h harvest) ingest.Plan {
	w.Helper()
	id, err := w.store.RecordTrigger(w.ctx, h.newTrigger())
	w.must(err)
	plan, existed, err := w.store.OpenPlan(w.ctx, h.newPlan(id))
	w.must(err)
	if existed {
		w.Fatalf("the plan of trigger %q existed already", h.trigger)
	}
	return plan
}

// plan stores all of a harvest: trigger, plan, slices, tasks.
func (w *world) plan(h harvest) ingest.Plan {
	w.Helper()
	plan := w.open(h)
	w.must(w.store.AddSlices(w.ctx, plan.ID, h.newSlices(), true))
	return plan
}

func (w *world) partitionID(h harvest) int64 {
	w.Helper()
	p := h.partition()
	return w.number("SELECT id FROM ing_partition WHERE provenance_code = ? AND endpoint_name = ? AND operation_code = ?",
		p.Source, p.Endpoint, string(p.Operation))
}

func (w *world) cursorID(h harvest) int64 {
	w.Helper()
	n := h.namespace()
	return w.number("SELECT id FROM ing_cursor WHERE provenance_code = ? AND operation_code = ? AND namespace_key = ?",
		n.Source, string(n.Operation), n.Key)
}

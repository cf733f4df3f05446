package executor

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// edited changes the specification of a claimed slice.
func edited(t *testing.T, work *ingest.Work, edit func(*slicing.Spec)) {
	t.Helper()
	var s slicing.Spec
	if err := json.Unmarshal(work.SliceSpec, &s); err != nil {
		t.Fatal(err)
	}
	edit(&s)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	work.SliceSpec = text
}

// S§5.4: what is asked for beyond the slice's own window is read and stored too.
func TestOverlapIsRead(t *testing.T) {
	w := startForm(t, formNamed(t, "token"), 200, "")
	w.planDay()
	noonish := dayFrom.Add(11 * time.Hour)
	work := w.claim("worker")
	work.Window.To = noonish
	edited(t, &work, func(s *slicing.Spec) { s.Window.Asked = &window.Window{From: dayFrom, To: noonish.Add(time.Hour)} })
	out, err := w.executor(w.store).Execute(t.Context(), work)
	w.must(err)
	inside := 0
	for truth := range w.data.Heads() {
		if truth.Indexed.Before(noonish.Add(time.Hour)) {
			inside++
		}
	}
	if out.Task != ingest.TaskSucceeded || out.Stats.Inserted != inside || out.Stats.OutsideKept != 0 || inside == 0 {
		t.Errorf("%d within the overlap, %+v", inside, out)
	}
}

// D§5.12: a window that holds more than the upstream serves fails loudly.
func TestCappedSliceFails(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		work := w.claim("worker")
		edited(t, &work, func(s *slicing.Spec) { s.Telemetry.Capped = true })
		out, err := w.executor(w.store).Execute(t.Context(), work)
		w.must(err)
		if out.Task != ingest.TaskFailed || out.Code != string(fault.Capped) || out.Stats.Requests != 0 {
			t.Errorf("%+v", out)
		}
	})
}

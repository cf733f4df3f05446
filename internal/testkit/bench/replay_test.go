package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// benchReplay measures doing one stored batch of 500 records again, against what
// nobody can leave out: reading the kept body and finding its items. A batch that
// was just stored compares every record with what was written; one whose records
// were known compares each with its head.
func benchReplay(b *testing.B, k kind, out *table) {
	size := works{days: 1, perDay: 1000, bytes: 2000}
	u := startUpstream(b, size, remembered)
	db := k.fresh(b)
	_ = db.open(b, false).Close()
	app, err := daemon.Open(b.Context(), daemon.Config{Database: db.address, Raw: daemon.RawConfig{Dir: b.TempDir()}})
	if err != nil {
		b.Fatal(err)
	}
	defer app.Close()
	for _, word := range []string{"stored", "known"} { // another question reads everything again
		compiled := u.compile(b, fmt.Sprintf("paging.size=%d", pageSize), "request.query.query="+word)
		if _, err := app.Harvest(b.Context(), compiled, daemon.NewRequest(u.to().AddDate(0, 0, 1), u.from(), u.to()), daemon.Watch{}); err != nil {
			b.Fatal(err)
		}
	}
	batches, err := app.Tasks.ListExchanges(b.Context(), view.Filter{Limit: 100})
	if err != nil {
		b.Fatal(err)
	}
	took := map[string]*samples{"stored": {}, "known": {}}
	var bare samples
	pick := map[string]view.Batch{}
	for _, one := range batches {
		switch pageSize {
		case one.Stats.Inserted:
			pick["stored"] = one
		case one.Stats.Unchanged:
			pick["known"] = one
		}
	}
	repeat(b, 50, func() {
		for name, batch := range pick {
			took[name].time(b, func() error { return replayed(b, app, batch.ID) })
		}
		bare.time(b, func() error { return bareReplay(b, app, pick["stored"].Raw) })
	})
	for name, what := range map[string]string{"stored": "it stored", "known": "it knew"} {
		_, processor := took[name].over(bare)
		each := took[name].cpu / time.Duration(len(took[name].wall))
		out.add(b, line{
			what: fmt.Sprintf("replay a batch of %d records %s, %s (mean / p95)", pageSize, what, k.name), ours: took[name].String(), reference: bare.String(),
			ratio: took[name].middle(bare), reads: fmt.Sprintf("time / reading the body and finding its items; medians; by processor time %.2f, %.1f ms a batch", processor, float64(each.Microseconds())/1000),
		})
	}
}

func replayed(tb testing.TB, app *daemon.App, id int64) error {
	report, err := app.Replays.Replay(tb.Context(), daemon.BatchRef{BatchID: id}, daemon.ReplayOptions{From: daemon.ReplayRaw, At: time.Now()})
	if err == nil && (!report.Identical || report.Seen != pageSize) {
		err = fmt.Errorf("batch %d is not as it was: %+v", id, report.Differences)
	}
	return err
}

func bareReplay(tb testing.TB, app *daemon.App, ref string) error {
	body, err := app.Bodies.Read(tb.Context(), ref)
	if err != nil {
		return err
	}
	var page struct {
		Message struct{ Items []json.RawMessage }
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return err
	}
	if len(page.Message.Items) != pageSize {
		return errors.New("not all items were found")
	}
	return nil
}

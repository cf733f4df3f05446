package outbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// told leaves events: two records, one of them in three versions, and one that is
// gone again.
func (w *world) told(h fixture.Harvest) {
	w.Helper()
	w.Plan(h)
	a := w.Begin(h)
	a.Commit(fixture.Item("a", "one", fixture.Noon), fixture.Item("b", "one", fixture.Noon))
	a.Commit(fixture.Item("a", "two", fixture.Noon.Add(fixture.Day)), fixture.Gone("b", fixture.Noon.Add(fixture.Day)))
	a.Commit(fixture.Item("a", "three", fixture.Noon.Add(2*fixture.Day)))
	a.Finish(fixture.Succeeded)
}

// claimed takes the lease of a dataset's events.
func (w *world) claimed(dataset int64, owner string) event.Claim {
	w.Helper()
	name := fmt.Sprintf("relay/%d", dataset)
	epoch, held, err := w.Store.AcquireLease(w.Ctx, name, owner, fixture.Lease)
	w.Must(err)
	if !held {
		w.Fatalf("%s does not get the lease", owner)
	}
	return event.Claim{Name: name, Owner: owner, Epoch: epoch, Lease: fixture.Lease}
}

// lane is the only dataset with something to publish.
func (w *world) lane() event.DatasetQueue {
	w.Helper()
	lanes, err := w.Store.OutboxLanes(w.Ctx)
	w.Must(err)
	if len(lanes) != 1 {
		w.Fatalf("lanes %+v", lanes)
	}
	return lanes[0]
}

func (w *world) waitingEvents(limit int) (out []event.Change) {
	w.Helper()
	out, err := w.Store.PendingEvents(w.Ctx, w.lane(), limit, 1<<20, &event.Room{})
	w.Must(err)
	return out
}

// settled is what became of the first events.
func (w *world) settlement(c event.Claim, changes []event.Change) event.Settlement {
	return event.Settlement{
		Claim: c, DatasetID: changes[0].DatasetID, Published: []int64{changes[0].Row}, Skipped: []int64{changes[3].Row}, Behind: []int64{changes[4].Row},
		Failed: []event.Failure{
			{Row: changes[1].Row, Attempts: 1, Fault: event.Refused, Text: "status 422", NotBefore: w.Clock.Read().Add(time.Minute)},
			{Row: changes[2].Row, Attempts: 5, Fault: event.Refused, Text: strings.Repeat("x", 1000), Dead: true},
		},
		Attempts: []event.Attempt{{No: 1, Destination: "hook", Outcome: event.Rejected, First: changes[0].Row, Last: changes[2].Row, Events: 3, Delivered: 1,
			Fault: event.Refused, Text: "status 422", StartedAt: fixture.Noon, EndedAt: fixture.Noon.Add(time.Second)}},
	}
}

func (w *world) states() string {
	return strings.Join(fixture.Column(w.T, w.DB.SQL, "SELECT status_code FROM ing_outbox_message ORDER BY id"), " ")
}

func (w *world) statesAre(want string) {
	w.Helper()
	if got := w.states(); got != want {
		w.Errorf("states are %s, want %s", got, want)
	}
}

func (s suite) outbox(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "what waits is read in order, with what it tells of", func(w *world) {
		w.told(h)
		events := w.waitingEvents(10)
		var got []string
		for _, c := range events {
			got = append(got, fmt.Sprintf("%s %s %d %s", c.Op, c.RecordID, c.Version, c.Fields))
			if c.Source != "crossref" || c.Endpoint != "works" || c.NoBody || len(c.Identity) != 32 || c.BatchID == 0 || !c.StoredAt.Equal(fixture.Noon) {
				w.Errorf("%+v", c)
			}
		}
		// Within a batch events stand in the order of the answer.
		if len(got) != 5 || got[0] != `INSERTED a 1 {"title":"one"}` || got[4] != `UPDATED a 3 {"title":"three"}` {
			w.Fatalf("%q", got)
		}
		if few, err := w.Store.PendingEvents(w.Ctx, w.lane(), 10, 1, &event.Room{}); err != nil || len(few) != 1 {
			w.Errorf("%d events, %v: one is more than a byte", len(few), err)
		}
		again, err := w.Store.EventsOf(w.Ctx, []int64{events[3].Row, events[1].Row, 4711}, 1<<20, &event.Room{})
		w.Must(err)
		if len(again) != 2 || again[0].Row != events[1].Row || again[0].Source != "crossref" || string(again[1].Payload) != string(events[3].Payload) {
			w.Errorf("%+v", again)
		}
	})
	s.test(t, "events and versions of a batch stand in the order of the answer", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		var items []record.Incoming
		var want []string
		for _, id := range []string{"d", "a", "g", "b", "f", "c", "e"} {
			items, want = append(items, fixture.Item(id, "one", fixture.Noon)), append(want, id)
		}
		a.Commit(items...)
		var got []string
		for _, c := range w.waitingEvents(10) {
			got = append(got, c.RecordID)
		}
		if !slices.Equal(got, want) {
			w.Errorf("events are of %q, want %q", got, want)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_outbox_message a JOIN ing_outbox_message b ON a.id < b.id AND a.body_id >= b.body_id"); n != 0 {
			w.Errorf("%d pairs of versions stand in another order than their events", n)
		}
	})
	s.test(t, "what a replay puts back while old messages are removed stays", func(w *world) {
		if w.Store.Dialect() == "sqlite" {
			w.Skip("one writer at a time")
		}
		w.told(h)
		w.Exec("UPDATE ing_outbox_message SET status_code = 'PUBLISHED', published_at = created_at")
		replay, err := w.DB.SQL.BeginTx(w.Ctx, nil)
		w.Must(err)
		defer replay.Rollback()
		_, err = replay.ExecContext(w.Ctx, "UPDATE ing_outbox_message SET status_code = 'PENDING', published_at = NULL WHERE id = (SELECT * FROM (SELECT MIN(id) FROM ing_outbox_message) first)")
		w.Must(err)
		done, other := make(chan error, 1), w.Handle()
		go func() {
			_, _, _, err := other.PruneMessages(w.Ctx, fixture.Noon.Add(fixture.Day), -1, 100)
			done <- err
		}()
		w.WaitForStatement("SELECT id, status_code, published_at") // it is held up by the row
		w.Must(replay.Commit())
		w.Must(<-done)
		w.statesAre("PENDING")
	})
	s.test(t, "an event without its version is told from one with", func(w *world) {
		w.told(h)
		w.Forget(func(v bodies.Stored) bool { return v.Version == 2 })
		n := 0
		for _, c := range w.waitingEvents(10) {
			if c.NoBody {
				n++
			}
		}
		if n != 2 {
			w.Errorf("%d events without a version, want 2", n)
		}
	})
	s.test(t, "settling needs the lease", func(w *world) {
		w.told(h)
		events := w.waitingEvents(10)
		old := w.claimed(events[0].DatasetID, "a")
		w.Clock.Advance(2 * fixture.Lease)
		w.claimed(events[0].DatasetID, "b")
		w.Unchanged("what the old owner does", func() {
			w.Refuses(w.Store.SettleEvents(w.Ctx, w.settlement(old, events)), fault.ErrStale, "settling")
		})
	})
	s.test(t, "events are settled, each in its way", func(w *world) {
		w.told(h)
		events := w.waitingEvents(10)
		w.Must(w.Store.SettleEvents(w.Ctx, w.settlement(w.claimed(events[0].DatasetID, "a"), events)))
		w.statesAre("PUBLISHED FAILED DEAD SKIPPED FAILED")
		held, now, err := w.Store.HeldEvents(w.Ctx, events[0].DatasetID, 10)
		w.Must(err)
		if len(held) != 3 || !now.Equal(w.Clock.Read()) || held[0].Key != events[1].Key || held[1].Status != event.Dead {
			w.Errorf("%+v at %v", held, now)
		}
		w.Clock.Advance(time.Minute)
		w.lane() // something is due
		log, err := w.Store.Deliveries(w.Ctx, view.Filter{Source: "crossref", Limit: 10})
		w.Must(err)
		if len(log) != 1 || log[0].Destination != "hook" || log[0].Delivered != 1 || log[0].Status != string(event.Rejected) {
			w.Errorf("%+v", log)
		}
		list, err := w.Store.Outgoing(w.Ctx, view.Filter{Limit: 2}, event.Failed, event.Dead)
		w.Must(err)
		if len(list) != 2 || list[0].ID != events[4].Row || list[0].ErrorCode != string(event.Behind) || list[1].ID != events[2].Row {
			w.Errorf("%+v", list)
		}
		one, err := w.Store.OutgoingEvent(w.Ctx, events[2].Row)
		w.Must(err)
		if one.Attempts != 5 || one.Status != string(event.Dead) || len([]rune(one.Error)) != 512 || one.RecordID != events[2].RecordID {
			w.Errorf("%+v", one)
		}
		_, err = w.Store.OutgoingEvent(w.Ctx, 4711)
		w.Refuses(err, fault.ErrNotFound, "an unknown event")
	})
	s.test(t, "of events that follow one another those are settled that are named", func(w *world) {
		other := fixture.Harvest{Source: "other", Days: 1}
		w.Plan(h)
		w.Plan(other)
		a, b := w.Begin(h), w.Begin(other)
		for n := range 3 { // events of two datasets, in turns of thirty
			for _, at := range []*fixture.Attempt{a, b} {
				var page []record.Incoming
				for i := range 30 {
					page = append(page, fixture.Item(fmt.Sprintf("%d-%d", n, i), "content", fixture.Noon))
				}
				at.Commit(page...)
			}
		}
		lanes, err := w.Store.OutboxLanes(w.Ctx)
		w.Must(err)
		events, err := w.Store.PendingEvents(w.Ctx, lanes[0], 100, 1<<20, &event.Room{})
		w.Must(err)
		in := event.Settlement{Claim: w.claimed(lanes[0].DatasetID, "a"), DatasetID: lanes[0].DatasetID}
		var named []string
		for i := len(events) - 1; i >= 0; i-- { // in no order that helps; every 29th is left out
			switch {
			case i%29 == 3:
			case i < 60:
				in.Published = append(in.Published, events[i].Row)
			default:
				in.Skipped = append(in.Skipped, events[i].Row)
			}
		}
		w.Must(w.Store.SettleEvents(w.Ctx, in))
		for i, e := range events {
			want := "PUBLISHED"
			if i%29 == 3 {
				want = "PENDING"
			} else if i >= 60 {
				want = "SKIPPED"
			}
			named = append(named, want)
			if got := fixture.Column(w.T, w.DB.SQL, fmt.Sprintf("SELECT status_code FROM ing_outbox_message WHERE id = %d", e.Row)); got[0] != want {
				w.Errorf("event %d is %s, want %s", i, got[0], want)
			}
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_outbox_message WHERE status_code = 'PENDING'"); len(named) != 90 || n != 90+3 {
			w.Errorf("%d of %d wait", n, len(named))
		}
	})
	s.test(t, "the backlog tells what waits, since when, and for whom", func(w *world) {
		if got, err := w.Store.Backlogs(w.Ctx, ""); err != nil || len(got) != 0 {
			w.Errorf("%+v, %v", got, err)
		}
		w.told(h)
		w.Clock.Advance(time.Hour)
		got, err := w.Store.Backlogs(w.Ctx, "crossref")
		w.Must(err)
		if len(got) != 1 || got[0].Waiting != 5 || !got[0].Since.Equal(fixture.Noon) || got[0].Relayed || got[0].Dead+got[0].Failed != 0 || got[0].More || got[0].Endpoint != "works" {
			w.Fatalf("%+v", got)
		}
		if got, err := w.Store.Backlogs(w.Ctx, "other"); err != nil || len(got) != 0 {
			w.Errorf("%+v, %v", got, err)
		}
		events := w.waitingEvents(10)
		claim := w.claimed(events[0].DatasetID, "a")
		in := w.settlement(claim, events)
		tell := func(no int64, to string, o event.Outcome) event.Attempt {
			return event.Attempt{No: no, Destination: to, Outcome: o, Text: "why " + to, StartedAt: fixture.Noon, EndedAt: fixture.Noon.Add(time.Duration(no) * time.Second)}
		}
		in.Behind, in.Attempts = nil, []event.Attempt{tell(1, "hook", event.Deferred), tell(2, "bus", event.Deferred), tell(3, "hook", event.Delivered)}
		w.Must(w.Store.SettleEvents(w.Ctx, in))
		got, err = w.Store.Backlogs(w.Ctx, "")
		w.Must(err)
		if b := got[0]; b.Waiting != 1 || b.Failed != 1 || b.Dead != 1 || !b.Relayed || len(b.Away) != 1 || b.Away[0] != (view.Away{Destination: "bus", TriedAt: fixture.Noon.Add(2 * time.Second), Error: "why bus"}) {
			w.Errorf("%+v", b)
		}
		w.Exec("UPDATE ing_outbox_message SET status_code = 'PUBLISHED'")
		if got, err := w.Store.Backlogs(w.Ctx, ""); err != nil || len(got) != 0 {
			w.Errorf("%+v, %v", got, err)
		}
		_, err = w.Store.ReplayEvents(w.Ctx, event.Replay{FromRow: 1, Begins: true}, 0, fixture.Tester)
		w.Must(err)
		if got, err = w.Store.Backlogs(w.Ctx, ""); err != nil || len(got) != 1 || got[0].Waiting != 5 || !got[0].Since.Equal(w.Clock.Read()) {
			w.Errorf("%+v, %v: what was put back waits since then", got, err)
		}
	})
	s.test(t, "dead events are tried again or given up, by name or by source", func(w *world) {
		w.told(h)
		events := w.waitingEvents(10)
		w.Must(w.Store.SettleEvents(w.Ctx, w.settlement(w.claimed(events[0].DatasetID, "a"), events)))
		w.Unchanged("a rehearsal", func() {
			done, _, err := w.Store.RetryEvents(w.Ctx, event.Pick{Source: "crossref"}, ingest.Act{Actor: "tester", Rehearsal: true})
			if err != nil || done.Changed != 1 {
				w.Errorf("%+v, %v", done, err)
			}
		})
		w.Unchanged("an unknown one", func() {
			_, _, err := w.Store.RetryEvents(w.Ctx, event.Pick{IDs: []int64{events[2].Row, 4711}}, fixture.Tester)
			w.Refuses(err, fault.ErrNotFound, "retry")
		})
		done, more, err := w.Store.RetryEvents(w.Ctx, event.Pick{IDs: []int64{events[0].Row, events[2].Row}}, fixture.Tester)
		if err != nil || more || done.Changed != 1 || done.Unchanged != 1 {
			w.Errorf("%+v, %v", done, err)
		}
		w.statesAre("PUBLISHED FAILED FAILED SKIPPED FAILED")
		if done, _, err = w.Store.DiscardEvents(w.Ctx, event.Pick{IDs: []int64{events[1].Row}}, fixture.Tester); err != nil || done.Changed != 1 {
			w.Errorf("%+v, %v", done, err)
		}
		w.statesAre("PUBLISHED SKIPPED FAILED SKIPPED FAILED")
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action IN ('outbox.retry','outbox.discard')"); n != 2 {
			w.Errorf("%d entries in the audit log", n)
		}
	})
	s.test(t, "events are replayed from a row or an instant on", func(w *world) {
		w.told(h)
		w.Exec("UPDATE ing_outbox_message SET status_code = 'PUBLISHED', published_at = ?", fixture.Noon.UnixMicro())
		events, err := w.Store.EventsAfter(w.Ctx, "crossref", 0, 10, 1<<20, &event.Room{})
		w.Must(err)
		records := fixture.TableRows(w.T, w.DB.SQL, "ing_record")
		w.Unchanged("a rehearsal", func() {
			done, err := w.Store.ReplayEvents(w.Ctx, event.Replay{FromRow: events[2].Row, Begins: true}, 0, ingest.Act{Rehearsal: true})
			if err != nil || done.Events != 3 || !done.End {
				w.Errorf("%+v, %v", done, err)
			}
		})
		done, err := w.Store.ReplayEvents(w.Ctx, event.Replay{FromRow: events[2].Row, Begins: true}, 0, fixture.Tester)
		if err != nil || done.Events != 3 || done.First != events[2].Row {
			w.Errorf("%+v, %v", done, err)
		}
		w.statesAre("PUBLISHED PUBLISHED PENDING PENDING PENDING")
		if len(fixture.Only(records, fixture.TableRows(w.T, w.DB.SQL, "ing_record"))) != 0 {
			w.Error("records changed")
		}
		if done, err = w.Store.ReplayEvents(w.Ctx, event.Replay{Source: "other", FromRow: 1}, 0, fixture.Tester); err != nil || done.Events != 0 {
			w.Errorf("%+v, %v", done, err)
		}
		if done, err = w.Store.ReplayEvents(w.Ctx, event.Replay{FromRow: 1, Since: fixture.Noon.Add(time.Second)}, 0, fixture.Tester); err != nil || done.Events != 0 {
			w.Errorf("%+v, %v", done, err)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'events.replay'"); n != 1 {
			w.Errorf("%d entries in the audit log", n)
		}
		for i, e := range events {
			w.Exec("UPDATE ing_outbox_message SET created_at = ? WHERE id = ?", fixture.Noon.Add(time.Duration(i)*time.Hour).UnixMicro(), e.Row)
		}
		for i, e := range events {
			if row, err := w.Store.FirstEventSince(w.Ctx, fixture.Noon.Add(time.Duration(i)*time.Hour)); err != nil || row > e.Row || i > 0 && row <= events[i-1].Row {
				w.Errorf("since hour %d: row %d, want %d (%v)", i, row, e.Row, err)
			}
		}
	})
	s.test(t, "the newest events are found", func(w *world) {
		w.told(h)
		events, err := w.Store.EventsAfter(w.Ctx, "", 0, 10, 1<<20, &event.Room{})
		w.Must(err)
		for n, want := range map[int]int64{0: events[4].Row, 2: events[2].Row, 5: 0, 9: 0} {
			if after, err := w.Store.NewestEvents(w.Ctx, "crossref", n); err != nil || after != want {
				w.Errorf("the newest %d come after %d, want %d (%v)", n, after, want, err)
			}
			if after, err := w.Store.NewestEvents(w.Ctx, "", n); err != nil || after != want {
				w.Errorf("the newest %d of all come after %d, want %d (%v)", n, after, want, err)
			}
		}
		if after, err := w.Store.NewestEvents(w.Ctx, "other", 2); err != nil || after != 0 {
			w.Errorf("of a source without events: %d, %v", after, err)
		}
		for i, status := range []event.Status{event.Published, event.Dead, event.Failed, event.Skipped, event.Pending} { // whatever their state
			w.Exec("UPDATE ing_outbox_message SET status_code = ? WHERE id = ?", string(status), events[i].Row)
		}
		var rows []int64
		for after := events[0].Row; ; { // two at a time
			page, err := w.Store.EventsAfter(w.Ctx, "crossref", after, 2, 1<<20, &event.Room{})
			w.Must(err)
			if len(page) == 0 {
				break
			}
			for _, c := range page {
				rows, after = append(rows, c.Row), c.Row
			}
		}
		if want := []int64{events[1].Row, events[2].Row, events[3].Row, events[4].Row}; !slices.Equal(rows, want) {
			w.Errorf("rows %v, want %v", rows, want)
		}
	})
	s.test(t, "a replayed and skipped event is what others take it for", func(w *world) {
		w.told(h)
		w.Exec("UPDATE ing_outbox_message SET status_code = 'SKIPPED'")
		w.Clock.Advance(fixture.Day)
		if n := w.PruneMessages(w.Clock.Read()); n != 5 {
			w.Errorf("%d skipped events went", n)
		}
	})
	s.test(t, "the delivery log is kept for a while", func(w *world) {
		w.told(h)
		events := w.waitingEvents(10)
		w.Must(w.Store.SettleEvents(w.Ctx, w.settlement(w.claimed(events[0].DatasetID, "a"), events)))
		w.Must(w.Store.PruneDeliveries(w.Ctx, fixture.Noon, 10))
		if n := w.Number("SELECT COUNT(*) FROM ing_outbox_relay_log"); n != 1 {
			w.Errorf("%d lines", n)
		}
		w.Must(w.Store.PruneDeliveries(w.Ctx, fixture.Noon.Add(fixture.Day), 10))
		if n := w.Number("SELECT COUNT(*) FROM ing_outbox_relay_log"); n != 0 {
			w.Errorf("%d lines", n)
		}
	})
}

func lossyOutbox() []lossy {
	h := fixture.Harvest{Days: 1}
	prepared := func(w *world) []event.Change {
		w.told(h)
		return w.waitingEvents(10)
	}
	settled := func(w *world) []event.Change {
		events := prepared(w)
		w.Must(w.Store.SettleEvents(w.Ctx, w.settlement(w.claimed(events[0].DatasetID, "a"), events)))
		return events
	}
	return []lossy{
		{"settle events", "settle events", func(w *world) func() (answer, error) {
			events := prepared(w)
			in := w.settlement(w.claimed(events[0].DatasetID, "a"), events)
			return func() (answer, error) { return nil, w.Store.SettleEvents(w.Ctx, in) }
		}},
		{"discard events", "discard events", func(w *world) func() (answer, error) {
			pick := event.Pick{IDs: []int64{settled(w)[2].Row}}
			return func() (answer, error) {
				_, _, err := w.Store.DiscardEvents(w.Ctx, pick, fixture.Tester)
				return nil, err
			}
		}},
		{"retry events", "retry events", func(w *world) func() (answer, error) {
			settled(w)
			return func() (answer, error) {
				_, _, err := w.Store.RetryEvents(w.Ctx, event.Pick{Source: "crossref"}, fixture.Tester)
				return nil, err
			}
		}},
		{"replay events", "replay events", func(w *world) func() (answer, error) {
			settled(w)
			return func() (answer, error) {
				_, err := w.Store.ReplayEvents(w.Ctx, event.Replay{FromRow: 1, Begins: true}, 0, fixture.Tester)
				return nil, err
			}
		}},
		{"prune deliveries", "prune deliveries", func(w *world) func() (answer, error) {
			settled(w)
			return func() (answer, error) { return nil, w.Store.PruneDeliveries(w.Ctx, fixture.Noon.Add(fixture.Day), 10) }
		}},
	}
}

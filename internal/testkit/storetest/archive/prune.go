package archive

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// versions lists the versions that are there of a record, oldest first.
func (w *world) versions(id string) []string {
	w.Helper()
	var out []string
	for _, v := range w.Versions() {
		if v.Record == record.KeyOf(id) {
			out = append(out, fmt.Sprint(v.Version))
		}
	}
	return out
}

func (w *world) versionsAre(id string, want ...string) {
	w.Helper()
	got := w.versions(id)
	if len(got) != len(want) {
		w.Errorf("record %s has versions %v, want %v", id, got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			w.Errorf("record %s has versions %v, want %v", id, got, want)
		}
	}
}

func (s suite) pruning(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	// A record with a version a day, one that never changed and one that is gone.
	lived := func(w *world) {
		w.Helper()
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Fetched("many", "1", fixture.Noon), fixture.Fetched("once", "1", fixture.Noon), fixture.Fetched("lost", "1", fixture.Noon))
		a.Commit(fixture.Fetched("many", "2", fixture.Noon.Add(fixture.Day)))
		lost := fixture.Gone("lost", fixture.Noon.Add(fixture.Day))
		lost.FetchAt = fixture.Noon.Add(fixture.Day)
		a.Commit(fixture.Fetched("many", "3", fixture.Noon.Add(2*fixture.Day)), lost)
		a.Commit(fixture.Fetched("many", "4", fixture.Noon.Add(3*fixture.Day)))
		a.Finish(fixture.Succeeded)
	}
	s.test(t, "versions go when they were replaced long ago", func(w *world) {
		lived(w)
		w.Exec("DELETE FROM ing_outbox_message")
		heads := fixture.TableRows(w.T, w.DB.SQL, "ing_record")
		if done := w.PruneVersions(fixture.Noon.Add(2*fixture.Day+time.Second), 1); done.Versions != 3 {
			w.Errorf("%+v", done)
		}
		w.versionsAre("many", "3", "4") // 3 was current at the instant
		w.versionsAre("once", "1")
		w.versionsAre("lost", "2")
		if done := w.PruneVersions(fixture.Noon.Add(2*fixture.Day+time.Second), 1); done.Versions != 0 {
			w.Errorf("the second run: %+v", done)
		}
		if done := w.PruneVersions(fixture.Noon.Add(100*fixture.Day), 1); done.Versions != 1 {
			w.Errorf("much later: %+v", done)
		}
		w.versionsAre("many", "4")
		if len(fixture.Only(heads, fixture.TableRows(w.T, w.DB.SQL, "ing_record"))) != 0 {
			w.Error("heads changed")
		}
		records, err := w.Store.Records(w.Ctx, "crossref", "works", nil, 10)
		w.Must(err)
		if len(records) != 3 {
			w.Errorf("%d records can be read", len(records))
		}
	})
	s.test(t, "what an item of long ago replaced just now stays", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		long := w.Clock.Read().Add(-30 * fixture.Day)
		a.Commit(fixture.Fetched("a", "1", long))
		then := w.Mark()
		a.Commit(fixture.Fetched("a", "2", long.Add(fixture.Day))) // as from quarantine
		w.Exec("DELETE FROM ing_outbox_message")
		if done := w.PruneVersions(w.Clock.Read().Add(-fixture.Day), 1); done.Versions != 0 {
			w.Errorf("%+v", done)
		}
		w.VersionsTaken(w.Exported(0, then), map[string]int{"a": 1}) // an export that began before
		w.PruneVersions(w.Clock.Read().Add(time.Second), 1)
		w.versionsAre("a", "2")
	})
	s.test(t, "as many stay as are asked for", func(w *world) {
		lived(w)
		w.Exec("DELETE FROM ing_outbox_message")
		w.PruneVersions(fixture.Noon.Add(100*fixture.Day), 3)
		w.versionsAre("many", "2", "3", "4")
		w.PruneVersions(fixture.Noon.Add(100*fixture.Day), 2) // less is asked for later: what was passed is looked at again
		w.versionsAre("many", "3", "4")
	})
	s.test(t, "what a message refers to stays until the message is gone", func(w *world) {
		lived(w)
		if done := w.PruneVersions(fixture.Noon.Add(100*fixture.Day), 1); done.Versions != 0 || done.Held != 4 {
			w.Errorf("%+v", done)
		}
		w.Clock.Advance(fixture.Day)
		w.Exec("UPDATE ing_outbox_message SET status_code = 'PUBLISHED', published_at = ? WHERE record_version < 3", w.Clock.Read().UnixMicro())
		if n := w.PruneMessages(w.Clock.Read()); n != 0 {
			w.Errorf("%d messages went that were published just now", n)
		}
		if n := w.PruneMessages(w.Clock.Read().Add(time.Second)); n != 5 {
			w.Errorf("%d messages went", n)
		}
		if done := w.PruneVersions(fixture.Noon.Add(100*fixture.Day), 1); done.Versions != 3 || done.Held != 1 {
			w.Errorf("%+v", done)
		}
		w.versionsAre("many", "3", "4")
		w.Exec("DELETE FROM ing_outbox_message")
		w.PruneVersions(fixture.Noon.Add(100*fixture.Day), 1)
		w.versionsAre("many", "4")
	})
	s.test(t, "what came after a version that stays can still lead to it", func(w *world) {
		lived(w)
		w.Exec("DELETE FROM ing_outbox_message WHERE record_version > 1")
		if done := w.PruneVersions(fixture.Noon.Add(100*fixture.Day), 1); done.Versions != 0 || done.Held != 4 {
			w.Errorf("%+v", done)
		}
		w.versionsAre("many", "1", "2", "3", "4")
		w.Exec("DELETE FROM ing_outbox_message")
		if done := w.PruneVersions(fixture.Noon.Add(100*fixture.Day), 1); done.Versions != 4 || done.Held != 0 {
			w.Errorf("once the messages are gone: %+v", done)
		}
		w.versionsAre("many", "4")
	})
	s.test(t, "messages that wait stay, whatever their age", func(w *world) {
		lived(w)
		w.Unchanged("prune", func() {
			if n := w.PruneMessages(fixture.Noon.Add(100 * fixture.Day)); n != 0 {
				w.Errorf("%d messages went", n)
			}
		})
	})
	s.test(t, "events that nobody ever asked for go when they are old", func(w *world) {
		lived(w)
		later := fixture.Noon.Add(100 * fixture.Day)
		all := w.Number("SELECT COUNT(*) FROM ing_outbox_message")
		if n, _, end, err := w.Store.OldUnclaimed(w.Ctx, fixture.Noon, -1, 100); n != 0 || !end || err != nil {
			w.Errorf("%d of those that are young, %v, %v", n, end, err)
		}
		if n, _, _, err := w.Store.OldUnclaimed(w.Ctx, later, -1, 1000); n != all || err != nil {
			w.Errorf("%d of %d are old, %v", n, all, err)
		}
		var sum int64
		for next, end := int64(-1), false; !end; {
			n, at, last, err := w.Store.PruneUnclaimed(w.Ctx, later, next, 2)
			w.Must(err)
			sum, next, end = sum+n, at, last
		}
		if left := w.Number("SELECT COUNT(*) FROM ing_outbox_message"); sum != all || left != 0 {
			w.Errorf("%d of %d went, %d are left", sum, all, left)
		}
		if found := w.checked(); len(found) > 0 {
			w.Errorf("%+v", found)
		}
	})
	for name, claim := range map[string]func(w *world){
		"a relay worked here once": func(w *world) {
			_, _, err := w.Store.AcquireLease(w.Ctx, "relay/1", "relay", time.Minute)
			w.Must(err)
		},
		"one was delivered": func(w *world) {
			w.Exec("UPDATE ing_outbox_message SET status_code = 'PUBLISHED' WHERE record_version = 1")
		},
		"one was refused": func(w *world) { w.Exec("UPDATE ing_outbox_message SET status_code = 'DEAD' WHERE record_version = 1") },
		"delivered ones were pruned": func(w *world) {
			w.Exec("INSERT INTO ing_upkeep_mark (name, position, updated_at) VALUES ('messages', 1, 1)")
		},
	} {
		s.test(t, "events wait for a receiver, whatever their age: "+name, func(w *world) {
			lived(w)
			claim(w)
			w.Unchanged("prune", func() {
				if n, _, end, err := w.Store.PruneUnclaimed(w.Ctx, fixture.Noon.Add(100*fixture.Day), -1, 100); n != 0 || !end || err != nil {
					w.Errorf("%d went, %v, %v", n, end, err)
				}
			})
		})
	}
	s.test(t, "a run ends once", func(w *world) {
		w.Must(w.Store.EndUpkeep(w.Ctx, "db.prune", "run 1", fixture.Tester, map[string]any{"versions": 3}))
		w.Unchanged("the same run", func() {
			w.Must(w.Store.EndUpkeep(w.Ctx, "db.prune", "run 1", fixture.Tester, map[string]any{"versions": 3}))
		})
		w.Clock.Advance(fixture.Day)
		w.Must(w.Store.EndUpkeep(w.Ctx, "db.prune", "run 2", fixture.Tester, nil))
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'db.prune'"); n != 1 {
			w.Errorf("%d entries, want one of the run that did something", n)
		}
		at, err := w.Store.LastUpkeep(w.Ctx, "db.prune")
		w.Must(err)
		if !at.Equal(fixture.Noon.Add(fixture.Day)) {
			w.Errorf("last run at %v", at)
		}
	})
}

package storetest

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/retention"
)

// pruneVersions prunes to the end in small steps.
func (w *world) pruneVersions(before time.Time, keep int) (sum retention.Pruned) {
	w.Helper()
	for next, end := int64(-1), false; !end; {
		would, n, _, err := w.store.OldVersions(w.ctx, before, keep, next, 2)
		w.must(err)
		done, at, last, err := w.store.PruneVersions(w.ctx, before, keep, next, 2)
		w.must(err)
		if would != done || n != at || done.Versions > 2 {
			w.Errorf("told %+v up to %d, done %+v up to %d", would, n, done, at)
		}
		sum.Versions, sum.Held = sum.Versions+done.Versions, sum.Held+done.Held
		next, end = at, last
	}
	return sum
}

// pruneMessages prunes to the end in small steps.
func (w *world) pruneMessages(before time.Time) (sum int64) {
	w.Helper()
	for next, end := int64(-1), false; !end; {
		would, _, _, err := w.store.OldMessages(w.ctx, before, next, 3)
		w.must(err)
		n, at, last, err := w.store.PruneMessages(w.ctx, before, next, 3)
		w.must(err)
		if would != n || n > 3 {
			w.Errorf("told %d, done %d", would, n)
		}
		sum, next, end = sum+n, at, last
	}
	return sum
}

// versions lists the versions that are there of a record, oldest first.
func (w *world) versions(id string) []string {
	w.Helper()
	return column(w.T, w.db.SQL, "SELECT version FROM ing_record_body WHERE id_hash = (SELECT id_hash FROM ing_record WHERE provider_id = ?) ORDER BY version", id)
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

// fetched is a record as it was read at an instant.
func fetched(id, content string, at time.Time) record.Incoming {
	in := item(id, content, at)
	in.FetchAt = at
	return in
}

func (s suite) pruning(t *testing.T) {
	h := harvest{days: 1}
	// A record with a version a day, one that never changed and one that is gone.
	lived := func(w *world) {
		w.Helper()
		w.plan(h)
		a := w.begin(h)
		a.commit(fetched("many", "1", noon), fetched("once", "1", noon), fetched("lost", "1", noon))
		a.commit(fetched("many", "2", noon.Add(day)))
		lost := gone("lost", noon.Add(day))
		lost.FetchAt = noon.Add(day)
		a.commit(fetched("many", "3", noon.Add(2*day)), lost)
		a.commit(fetched("many", "4", noon.Add(3*day)))
		a.finish(succeeded)
	}
	s.test(t, "versions go when they were replaced long ago", func(w *world) {
		lived(w)
		w.exec("DELETE FROM ing_outbox_message")
		heads := tableRows(w.T, w.db.SQL, "ing_record")
		if done := w.pruneVersions(noon.Add(2*day+time.Second), 1); done.Versions != 3 {
			w.Errorf("%+v", done)
		}
		w.versionsAre("many", "3", "4") // 3 was current at the instant
		w.versionsAre("once", "1")
		w.versionsAre("lost", "2")
		if done := w.pruneVersions(noon.Add(2*day+time.Second), 1); done.Versions != 0 {
			w.Errorf("the second run: %+v", done)
		}
		if done := w.pruneVersions(noon.Add(100*day), 1); done.Versions != 1 {
			w.Errorf("much later: %+v", done)
		}
		w.versionsAre("many", "4")
		if len(only(heads, tableRows(w.T, w.db.SQL, "ing_record"))) != 0 {
			w.Error("heads changed")
		}
		records, err := w.store.Records(w.ctx, "crossref", "works", nil, 10)
		w.must(err)
		if len(records) != 3 {
			w.Errorf("%d records can be read", len(records))
		}
	})
	s.test(t, "what an item of long ago replaced just now stays", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		long := w.clock.read().Add(-30 * day)
		a.commit(fetched("a", "1", long))
		then := w.mark()
		a.commit(fetched("a", "2", long.Add(day))) // as from quarantine
		w.exec("DELETE FROM ing_outbox_message")
		if done := w.pruneVersions(w.clock.read().Add(-day), 1); done.Versions != 0 {
			w.Errorf("%+v", done)
		}
		w.versionsTaken(w.exported(0, then), map[string]int{"a": 1}) // an export that began before
		w.pruneVersions(w.clock.read().Add(time.Second), 1)
		w.versionsAre("a", "2")
	})
	s.test(t, "as many stay as are asked for", func(w *world) {
		lived(w)
		w.exec("DELETE FROM ing_outbox_message")
		w.pruneVersions(noon.Add(100*day), 3)
		w.versionsAre("many", "2", "3", "4")
		w.pruneVersions(noon.Add(100*day), 2) // less is asked for later: what was passed is looked at again
		w.versionsAre("many", "3", "4")
	})
	s.test(t, "what a message refers to stays until the message is gone", func(w *world) {
		lived(w)
		if done := w.pruneVersions(noon.Add(100*day), 1); done.Versions != 0 || done.Held != 4 {
			w.Errorf("%+v", done)
		}
		w.clock.advance(day)
		w.exec("UPDATE ing_outbox_message SET status_code = 'PUBLISHED', published_at = ? WHERE record_version < 3", w.clock.read().UnixMicro())
		if n := w.pruneMessages(w.clock.read()); n != 0 {
			w.Errorf("%d messages went that were published just now", n)
		}
		if n := w.pruneMessages(w.clock.read().Add(time.Second)); n != 5 {
			w.Errorf("%d messages went", n)
		}
		if done := w.pruneVersions(noon.Add(100*day), 1); done.Versions != 3 || done.Held != 1 {
			w.Errorf("%+v", done)
		}
		w.versionsAre("many", "3", "4")
		w.exec("DELETE FROM ing_outbox_message")
		w.pruneVersions(noon.Add(100*day), 1)
		w.versionsAre("many", "4")
	})
	s.test(t, "messages that wait stay, whatever their age", func(w *world) {
		lived(w)
		w.unchanged("prune", func() {
			if n := w.pruneMessages(noon.Add(100 * day)); n != 0 {
				w.Errorf("%d messages went", n)
			}
		})
	})
	s.test(t, "a run ends once", func(w *world) {
		w.must(w.store.EndUpkeep(w.ctx, "db.prune", "run 1", tester, map[string]any{"versions": 3}))
		w.unchanged("the same run", func() {
			w.must(w.store.EndUpkeep(w.ctx, "db.prune", "run 1", tester, map[string]any{"versions": 3}))
		})
		w.clock.advance(day)
		w.must(w.store.EndUpkeep(w.ctx, "db.prune", "run 2", tester, nil))
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'db.prune'"); n != 1 {
			w.Errorf("%d entries, want one of the run that did something", n)
		}
		at, err := w.store.LastUpkeep(w.ctx, "db.prune")
		w.must(err)
		if !at.Equal(noon.Add(day)) {
			w.Errorf("last run at %v", at)
		}
	})
}

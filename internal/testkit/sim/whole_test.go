package sim

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// stay is how long an item was in its list; it has not left if left is zero.
type stay struct{ came, left time.Time }

// leave notes that an item is about to be removed.
func (u *upstream) leave(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.stays[u.stored(id)]
	s.left = time.Now()
	u.stays[u.stored(id)] = s
}

// openWhole opens a list without dates. In one half of the worlds one reading that lacks a record is
// enough for it to be gone, so a reading that is wrongly taken for complete does harm at once. In the
// other half two are needed, most of a day apart: within an hour nothing may be gone.
func (w *world) openWhole(random *rand.Rand) {
	all := simulated.Whole()
	f := all[random.IntN(len(all))]
	confirm := 1 + int(w.seed%2)
	w.add(f.Name, []byte(f.YAML("http://"+f.Name+".sim")), upsim.Options{}, random, fmt.Sprint("snapshot.confirm=", confirm))
	w.upstreams[len(w.upstreams)-1].confirm = confirm
}

// readingsHadTheList holds every complete reading of a list against what was in it all the
// time that the reading took, and what is gone against what is there.
func (w *world) readingsHadTheList(db *sql.DB, u *upstream) (problems []string) {
	w.Helper()
	rows, err := db.QueryContext(w.Context(), "SELECT id, items, created_at, ended_at FROM ing_generation WHERE state_code = 'COMPLETE' AND cursor_id IN (SELECT id FROM ing_cursor WHERE provenance_code = ?)", u.code)
	w.must(err)
	defer rows.Close()
	var ends []time.Time // of complete readings
	for rows.Next() {
		var id, items, began, ended int64
		w.must(rows.Scan(&id, &items, &began, &ended))
		if had := u.stayed(time.UnixMicro(began), time.UnixMicro(ended)); items < had {
			problems = append(problems, fmt.Sprintf("reading %d of %s counts as complete with %d items; %d were in the list all the time", id, u.code, items, had))
		}
		w.tally["complete readings"]++
		ends = append(ends, time.UnixMicro(ended))
	}
	w.must(rows.Err())
	if w.tally["complete readings"] == 0 {
		problems = append(problems, "no reading of "+u.code+" is complete")
	}
	gone, err := db.QueryContext(w.Context(), "SELECT provider_id FROM ing_record WHERE state_code = 'GONE' AND dataset_id = (SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?)", u.code, simulated.Endpoint)
	w.must(err)
	defer gone.Close()
	for gone.Next() {
		var id []byte
		w.must(gone.Scan(&id))
		w.tally["gone from the list"]++
		if s := u.stays[string(id)]; s.left.IsZero() && u.known[string(id)] {
			problems = append(problems, fmt.Sprintf("%s of %s is gone, and never left the list", id, u.code))
		} else if n, apart := readingsAfter(ends, s.left); n < u.confirm || u.confirm > 1 && apart < generation.Apart {
			problems = append(problems, fmt.Sprintf("%s of %s is gone after %d complete readings without it, %s apart; %d are needed", id, u.code, n, apart, u.confirm))
		}
	}
	w.must(gone.Err())
	return problems
}

// readingsAfter counts the readings that ended after an instant, and tells how far they lie apart.
func readingsAfter(ends []time.Time, left time.Time) (n int, apart time.Duration) {
	var first, last time.Time
	for _, end := range ends {
		if !end.After(left) {
			continue
		}
		if n++; first.IsZero() || end.Before(first) {
			first = end
		}
		if end.After(last) {
			last = end
		}
	}
	return n, last.Sub(first)
}

// stayed counts the items that came before an instant and had not left by another.
func (u *upstream) stayed(from, to time.Time) (n int64) {
	for id, s := range u.stays {
		if !isForeign(id) && s.came.Before(from) && (s.left.IsZero() || s.left.After(to)) {
			n++
		}
	}
	return n
}

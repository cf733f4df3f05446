package sim

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/operate"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// racks are the parts of a list that are records themselves: they come, with works of a time before, change, are closed and come
// back, and are refused or broken for a while. A rack changes whenever a work on it does.
type racks struct {
	serial  sync.Mutex // one thing happens after the other
	mu      sync.Mutex
	all     map[string]*rack
	of      map[string]string // rack of each work
	troubly func() bool       // whether a request for the list of racks fails
}

type rack struct {
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Closed  bool      `json:"closed"`
	status  int       // of answers about its works; 0: they are good
}

// newRacks puts the works of a list on some racks.
func newRacks(data *upsim.Dataset, n int, began time.Time) *racks {
	r := &racks{all: map[string]*rack{}, of: map[string]string{}, troubly: func() bool { return false }}
	for i := range n {
		r.add(began.AddDate(0, 0, -history), began.Add(-time.Duration(i+1)*time.Hour).Truncate(time.Second))
	}
	i := 0
	for work := range data.Heads() {
		r.of[work.DOI] = rackName(i % n)
		i++
	}
	return r
}

func rackName(n int) string { return fmt.Sprint("rack-", n) }

// add makes a rack. The caller holds the lock, or is alone.
func (r *racks) add(created, updated time.Time) *rack {
	one := &rack{ID: rackName(len(r.all)), Created: created, Updated: updated}
	r.all[one.ID] = one
	return one
}

// holding returns the rack of a work.
func (r *racks) holding(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[id]
}

// put lets a work stand on a rack, which changes by it.
func (r *racks) put(id, on string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range []string{r.of[id], on} {
		if one := r.all[name]; one != nil && at.After(one.Updated) {
			one.Updated = at
		}
	}
	r.of[id] = on
}

// open lists the racks that are there.
func (r *racks) open() (out []*rack) {
	for _, name := range slices.Sorted(maps.Keys(r.all)) {
		if one := r.all[name]; !one.Closed {
			out = append(out, one)
		}
	}
	return out
}

// answered answers what is not left to the server of the works. Of a rack that was closed it knows nothing.
func (r *racks) answered(w http.ResponseWriter, q *http.Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.URL.Path != "/racks" {
		switch one := r.all[q.FormValue("shelf")]; {
		case one == nil || one.Closed:
			http.Error(w, "no such rack", http.StatusNotFound)
			return true
		case one.status != 0:
			http.Error(w, "not now", one.status)
			return true
		}
		return false
	}
	if r.troubly() {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return true
	}
	from, _ := time.Parse(time.RFC3339, q.FormValue("from"))
	until, _ := time.Parse(time.RFC3339, q.FormValue("until"))
	out := []*rack{}
	for _, one := range r.all {
		if !one.Updated.Before(from) && one.Updated.Before(until) {
			out = append(out, one)
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"racks": out})
	return true
}

// calm lets all racks be given.
func (r *racks) calm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.troubly = func() bool { return false }
	for _, one := range r.all {
		one.status = 0
	}
}

// isRacks reports whether the works of a form stand on racks.
func isRacks(name string) bool {
	return name == simulated.Racks(false).Name || name == simulated.Racks(true).Name
}

// openRacks opens a list of works below racks. In one half of the worlds only those are asked for that changed.
func (w *world) openRacks(random *rand.Rand) {
	f := simulated.Racks(w.seed%2 == 0)
	var of *racks
	o := upsim.Options{}
	o.Forms.Shelf = func(id string) string { return of.holding(id) }
	u := w.add(f.Name, []byte(f.YAML("http://"+f.Name+".sim")), o, random)
	of = newRacks(u.data, 6, w.began)
	u.setRacks(of)
}

func (u *upstream) setRacks(of *racks) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.racks = of
}

// harvestOfRacks is the harvest of the racks themselves.
func (w *world) harvestOfRacks(u *upstream) errand {
	return errand{u, u.compileEndpoint(w, simulated.RacksEndpoint, ingest.Harvest), w.harvestOf(u).ask}
}

// changeOnRack lets a work come, change, go to another rack, or leave. Its rack changes with it.
func (w *world) changeOnRack(u *upstream, random *rand.Rand, now time.Time) {
	r, at := u.racks, now
	r.serial.Lock()
	defer r.serial.Unlock()
	if random.IntN(3) == 0 { // late
		at = now.Add(-time.Duration(random.Int64N(int64(lookback - time.Minute)))).Truncate(time.Second)
	}
	r.mu.Lock()
	all := r.open()
	on := all[random.IntN(len(all))].ID
	r.mu.Unlock()
	var works []upsim.Truth
	for work := range u.data.Heads() {
		works = append(works, work)
	}
	one := works[random.IntN(len(works))]
	switch {
	case isForeign(one.DOI):
	case random.IntN(2) == 0:
		u.addOnRack(w, on, at, now)
	case random.IntN(8) == 0:
		u.leave(one.DOI)
		_ = u.data.Remove(one.DOI) // it is there
	case at.After(one.Indexed):
		if random.IntN(3) > 0 {
			on = r.holding(one.DOI)
		}
		_ = u.data.Touch(one.DOI, at, true)
		r.put(one.DOI, on, now)
	}
}

// addOnRack puts a new work on a rack.
func (u *upstream) addOnRack(w *world, on string, stamp, now time.Time) {
	id, err := u.data.Add("", stamp)
	if err != nil {
		w.Error(err)
		return
	}
	u.learn(id)
	u.racks.put(id, on, now)
}

// shuffle is what happens to racks while their works are read.
func (w *world) shuffle(u *upstream) {
	random := w.random("racks", u.name)
	r := u.racks
	fail := w.random("list of racks")
	r.mu.Lock()
	r.troubly = func() bool { return fail.IntN(10) == 0 }
	r.mu.Unlock()
	for w.pass(about(random, 40*time.Second)) {
		w.shuffleOnce(u, random)
	}
	r.calm()
}

// shuffleOnce lets one rack come, go, come back, be refused, break or be given again.
func (w *world) shuffleOnce(u *upstream, random *rand.Rand) {
	r, now := u.racks, time.Now().Truncate(time.Second)
	r.serial.Lock()
	defer r.serial.Unlock()
	switch random.IntN(6) {
	case 0:
		w.count("racks that came")
		u.addRack(w, random, now)
	case 1:
		if u.closeRack(w, random, now) {
			w.count("racks that were closed")
		}
	case 2:
		r.mu.Lock()
		for _, one := range r.all {
			if one.Closed && now.After(one.Updated) {
				one.Closed, one.Updated = false, now
				w.count("racks that came back")
				break
			}
		}
		r.mu.Unlock()
	case 3, 4:
		r.mu.Lock()
		all := r.open()
		all[random.IntN(len(all))].status = []int{451, 451, 500, 404}[random.IntN(4)]
		r.mu.Unlock()
		w.count("racks that were not given")
	case 5:
		r.mu.Lock()
		all := r.open()
		all[random.IntN(len(all))].status = 0
		r.mu.Unlock()
	}
}

// addRack lets a rack come with works that are older than it, and younger than it says it is.
func (u *upstream) addRack(w *world, random *rand.Rand, now time.Time) {
	created := now.Add(-time.Duration(1+random.IntN(20)) * time.Hour)
	r := u.racks
	var ids []string
	for range random.IntN(5) {
		id, err := u.data.Add("", created.Add(time.Duration(random.Int64N(int64(now.Sub(created))))).Truncate(time.Second))
		if err != nil {
			w.Error(err)
			return
		}
		u.learn(id)
		ids = append(ids, id)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.add(created, now)
	for _, id := range ids {
		r.of[id] = one.ID
	}
}

// closeRack closes a rack, if there are others: some of its works go with it, others go to another rack.
func (u *upstream) closeRack(w *world, random *rand.Rand, now time.Time) bool {
	r := u.racks
	r.mu.Lock()
	all := r.open()
	one := all[random.IntN(len(all))]
	if len(all) < 4 || !now.After(one.Updated) {
		r.mu.Unlock()
		return false
	}
	other := all[(slices.Index(all, one)+1)%len(all)]
	one.Closed, one.Updated, one.status = true, now, 0
	r.mu.Unlock()
	for work := range u.data.Heads() {
		if r.holding(work.DOI) != one.ID {
			continue
		}
		if random.IntN(2) == 0 || !now.After(work.Indexed) {
			u.leave(work.DOI)
			_ = u.data.Remove(work.DOI) // it is there
			continue
		}
		_ = u.data.Touch(work.DOI, now, true)
		r.put(work.DOI, other.ID, now)
	}
	return true
}

// racksAreKnown holds the stored racks against those that there are.
func (w *world) racksAreKnown(db *sql.DB, u *upstream) (problems []string) {
	w.Helper()
	var items []check.Item
	for _, one := range u.racks.all {
		items = append(items, check.Item{ID: one.ID, Stamp: one.Updated})
		var state string
		err := db.QueryRowContext(w.Context(), "SELECT state_code FROM ing_record WHERE provider_id = ? AND dataset_id = (SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?)",
			one.ID, u.code, simulated.RacksEndpoint).Scan(&state)
		if err != nil || (state == "GONE") != one.Closed {
			problems = append(problems, fmt.Sprintf("I2: %s is %s (%v), and closed is %v", one.ID, state, err, one.Closed))
		}
	}
	lost, err := check.Lost(w.Context(), db, u.code, simulated.RacksEndpoint, items, nil, func(id string) bool { return u.racks.all[id] != nil })
	w.must(err)
	return append(problems, lost...)
}

// racksComeAndGo lets works come to racks, racks come with a past, and one of them be closed.
func racksComeAndGo(s *stage) {
	random := s.random("racks")
	pass(s.ctx, 3*time.Minute)
	for n := range 30 {
		now := time.Now().Truncate(time.Second)
		s.up.addOnRack(s.world, rackName(n%6), now, now)
		switch n {
		case 5, 15, 25:
			s.up.addRack(s.world, random, now)
		case 20:
			s.up.closeRack(s.world, random, now)
		}
		pass(s.ctx, 10*time.Second)
	}
}

// racksRefused are known, and then not given for longer than a lookback reaches and a record counts as new, while works come to them.
func racksRefused(s *stage) {
	r := s.up.racks
	pass(s.ctx, 20*time.Minute)
	r.mu.Lock()
	r.all[rackName(2)].status, r.all[rackName(4)].status = 451, 451
	r.mu.Unlock()
	for n := range 60 {
		now := time.Now().Truncate(time.Second)
		s.up.addOnRack(s.world, rackName(n%6), now, now)
		pass(s.ctx, 20*time.Second)
	}
	r.calm()
}

// fewRacksChange lets all racks rest for longer than a change counts, and then works come to two of them.
func fewRacksChange(s *stage) {
	pass(s.ctx, 45*time.Minute)
	s.began = time.Now()
	for n := range 30 {
		now := time.Now().Truncate(time.Second)
		s.up.addOnRack(s.world, rackName(1+2*(n%2)), now, now)
		pass(s.ctx, 10*time.Second)
	}
}

// askedFor counts the requests for the works of a rack since an instant.
func (s *stage) askedFor(name string, since time.Time) (n int) {
	for _, e := range s.journal.all() {
		if e.Query.Get("shelf") == name && e.At.After(since) {
			n++
		}
	}
	return n
}

// quietRacksAreLeftAlone: a rack that changed is asked for more often than one that did not.
func quietRacksAreLeftAlone(s *stage, _ *sql.DB) {
	s.Helper()
	quiet, busy := s.askedFor(rackName(5), s.began), s.askedFor(rackName(1), s.began)
	if busy < 3 || quiet > busy/2 {
		s.Errorf("%d requests for a rack that rested, %d for one that changed", quiet, busy)
	}
}

// refusedRacksAreLeftAlone: they were refused, noted as missing while plans left them out, and nothing is owed of them any more.
func refusedRacksAreLeftAlone(s *stage, db *sql.DB) {
	s.Helper()
	var refused, left, lags int
	s.must(db.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM ing_plan_slice WHERE sector_lost LIKE '%451%'").Scan(&refused))
	s.must(db.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM ing_plan_slice WHERE sector_lost LIKE '%left%'").Scan(&left))
	s.must(db.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM ing_sector_lag").Scan(&lags))
	if refused == 0 || left == 0 || lags > 0 {
		s.Errorf("%d slices met a refusal, %d left a rack out, %d lags are left", refused, left, lags)
	}
}

// racksMistaken are known, and then all answers are about one of them, for longer than a lookback reaches.
func racksMistaken(s *stage) {
	pass(s.ctx, 20*time.Minute)
	s.up.server.SetLies(upsim.Lies{OnlyShelf: rackName(5)})
	for n := range 60 {
		now := time.Now().Truncate(time.Second)
		s.up.addOnRack(s.world, rackName(n%6), now, now)
		pass(s.ctx, 20*time.Second)
	}
	s.up.server.SetLies(upsim.Lies{})
	s.resumeAll(operate.New(s.store))
}

package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

const dailyFigures = `source: figures
name: Figures of every day
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
retry: {maxAttempts: 1, taskAttempts: 1}
filter: {field: day, bounds: UNIT, precision: DAY}
window: {size: P10D, lookback: P4D, safetyLag: PT0S}
endpoints:
  rows:
    role: SEARCH
    request: {path: "/days/${filter.at}", query: {offset: "${page.offset}", limit: "${page.size}"}}
    paging: {type: OFFSET, size: 3}
    snapshot: %s
    response: {items: $.rows, id: "${window.unit}/%s", replaces: WINDOW, total: $.count, fields: {day: "${window.unit}", country: $.country, n: $.n}}
`

// figures serve the rows of each day, which are added, changed, moved and removed while they are read.
type figures struct {
	sync.Mutex
	days   map[string]map[string]int // by day and country
	broken map[string]bool           // days that cannot be read
	short  map[string]bool           // days of which a few rows come, as if they were all
	random *rand.Rand                // what happens at every request; nil: nothing
	lacked map[string]bool           // rows that were not there at some time of the round
	byHash bool                      // a row with another number is another row
	parts  []string                  // parts that days are asked for in; rows are named PART/COUNTRY then
}

// partitionedFigures asks for each day in two parts. A country may be in both, and its rows may move from one to the other.
var partitionedFigures = strings.NewReplacer(
	"    request: {path: \"/days/${filter.at}\", query: {", "    partitions: {part: {values: [a, b]}}\n    request: {path: \"/days/${filter.at}\", query: {part: \"${partition.part}\", ",
	"${window.unit}/%s", "${window.unit}/${partition.part}/%s",
	"country: $.country,", "country: \"${partition.part}/${jsonPath('$.country')}\",").Replace(dailyFigures)

func (f *figures) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Lock()
	defer f.Unlock()
	day, part := strings.Split(r.URL.Path, "/")[2], ""
	if len(f.parts) > 0 {
		part = r.FormValue("part") + "/"
	}
	asked := strings.Trim(day+"/"+part, "/")
	if f.broken[asked] {
		http.Error(w, "broken", http.StatusBadRequest)
		return
	}
	if f.random != nil && f.random.IntN(3) == 0 {
		f.change(f.random)
	}
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	all, page := slices.Sorted(maps.Keys(f.days[day])), []any{}
	all = slices.DeleteFunc(all, func(country string) bool { return !strings.HasPrefix(country, part) })
	if f.short[asked] {
		all = all[:min(len(all), 2)]
	}
	for _, country := range all[min(offset, len(all)):min(offset+limit, len(all))] {
		page = append(page, map[string]any{"country": strings.TrimPrefix(country, part), "n": f.days[day][country]})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"rows": page, "count": len(all)})
}

// row names what is one record: a day and a country, with its number where the id is a hash.
func (f *figures) row(day, country string, n int) string {
	if f.byHash {
		return fmt.Sprint(day, "/", country, "/", n)
	}
	return day + "/" + country
}

// name is a country, in one of the parts if there are some.
func (f *figures) name(n int) string {
	if len(f.parts) == 0 {
		return fmt.Sprint("c", n)
	}
	return fmt.Sprint(f.parts[n%len(f.parts)], "/c", n/len(f.parts))
}

// reading names what one reading is of: a day, or a part of it.
func (f *figures) reading(row string) string {
	fields := strings.SplitN(row, "/", 3)
	if len(f.parts) == 0 {
		return fields[0]
	}
	return fields[0] + "/" + fields[1]
}

// readings are those of a day.
func (f *figures) readings(day string) []string {
	if len(f.parts) == 0 {
		return []string{day}
	}
	var out []string
	for _, part := range f.parts {
		out = append(out, day+"/"+part)
	}
	return out
}

// change adds, changes, moves or removes a row of some day.
func (f *figures) change(random *rand.Rand) {
	names := slices.Sorted(maps.Keys(f.days))
	names = names[len(names)-5:]
	day, country := names[random.IntN(len(names))], f.name(random.IntN(14))
	n, there := f.days[day][country]
	what := random.IntN(4)
	if there && (what > 1 || f.byHash) {
		f.lacked[f.row(day, country, n)] = true
	}
	switch what {
	case 0, 1: // comes, or has another number
		f.days[day][country] = random.IntN(5)
	case 2:
		delete(f.days[day], country)
	case 3: // moves to another day, or another part
		if there {
			delete(f.days[day], country)
			to := names[random.IntN(len(names))]
			if len(f.parts) > 0 {
				_, rest, _ := strings.Cut(country, "/")
				country = f.parts[random.IntN(len(f.parts))] + "/" + rest
			}
			if old, taken := f.days[to][country]; taken && f.byHash {
				f.lacked[f.row(to, country, old)] = true
			}
			f.days[to][country] = n
		}
	}
}

// rows are those that are there now.
func (f *figures) rows(days []string) map[string]int {
	out := map[string]int{}
	for _, day := range days {
		for country, n := range f.days[day] {
			out[f.row(day, country, n)] = n
		}
	}
	return out
}

// figureWorld is a program that reads the days of figures, one day after the other.
type figureWorld struct {
	*testing.T
	up    *figures
	app   *App
	src   *registry.Source
	list  *spec.Compiled
	now   time.Time
	clock atomic.Pointer[time.Time]
	names map[string]string // of rows, by the id of their record
}

func newFigures(t *testing.T, database, snapshot, id string, parts ...string) *figureWorld {
	w := &figureWorld{T: t, now: time.Date(2025, 3, 5, 0, 0, 0, 0, time.UTC), names: map[string]string{},
		up: &figures{days: map[string]map[string]int{}, broken: map[string]bool{}, short: map[string]bool{}, lacked: map[string]bool{}, byHash: strings.Contains(id, "hash"), parts: parts}}
	server := httptest.NewServer(w.up)
	t.Cleanup(server.Close)
	var err error
	file := dailyFigures
	if len(parts) > 0 {
		file = partitionedFigures
	}
	w.src, _, err = registry.Decode("figures.yaml", fmt.Appendf(nil, file, server.URL, snapshot, id))
	w.must(err)
	w.list, err = Compile(w.src, "", ingest.Harvest, nil)
	w.must(err)
	localstore.GiveTables(t, database)
	w.clock.Store(&w.now)
	w.app, err = Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 4, Clock: func() time.Time { return *w.clock.Load() }})
	w.must(err)
	t.Cleanup(func() { w.app.Close() })
	return w
}

func (w *figureWorld) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// harvest reads the last days anew, a day later.
func (w *figureWorld) harvest() {
	w.Helper()
	now := w.now.Add(24 * time.Hour)
	w.now = now
	w.clock.Store(&now)
	w.begin(now)
	_, err := w.app.Harvest(w.Context(), w.list, NewRequest(now, nil, nil), Watch{})
	w.must(err)
}

// begin lets a day begin with its rows.
func (w *figureWorld) begin(day time.Time) {
	rows := map[string]int{}
	for n := range 12 {
		rows[w.up.name(n)] = n
	}
	w.up.days[day.Format(time.DateOnly)] = rows
}

// day names a day by how long ago it began.
func (w *figureWorld) day(ago int) string { return w.now.AddDate(0, 0, -ago).Format(time.DateOnly) }

// stored are the rows that are there and those that are gone, with their numbers.
func (w *figureWorld) stored() (active, gone map[string]int) {
	w.Helper()
	active, gone = map[string]int{}, map[string]int{}
	records, err := w.app.store.Records(w.Context(), "figures", "rows", nil, 10_000)
	w.must(err)
	for _, r := range records {
		if r.State != "ACTIVE" {
			gone[w.names[r.ID]] = 0
			continue
		}
		var fields struct {
			Day, Country string
			N            int
		}
		w.must(json.Unmarshal(r.Fields, &fields))
		w.names[r.ID] = w.up.row(fields.Day, fields.Country, fields.N)
		active[w.names[r.ID]] = fields.N
	}
	return active, gone
}

// A repeated reading of a day replaces what was stored of it. Rows are added, changed, moved to other days and
// removed while they are read; days break and show too little. What becomes gone was not there, and by a reading
// that told so. When all is quiet, what is stored is what is there.
func TestReadingsOfAWindowReplaceEachOther(t *testing.T) {
	readingsReplaceEachOther(t, 1)
}

// The same with more histories.
func TestProofReadingsOfAWindowReplaceEachOther(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	readingsReplaceEachOther(t, 10)
}

func readingsReplaceEachOther(t *testing.T, seeds uint64) {
	for name, c := range map[string]struct {
		snapshot, id string
		quiet        int  // rounds until what vanished is gone
		short        bool // a day that shows too little is found out
		parts        []string
	}{
		"by country":               {"{confirm: 1, maxGone: 1}", "${jsonPath('$.country')}", 1, true, nil},
		"confirmed":                {"{confirm: 2, maxGone: 1}", "${jsonPath('$.country')}", 3, true, nil},
		"by hash":                  {"{confirm: 1, maxGone: 1, minShare: 0}", "${hash()}", 1, false, nil},
		"in parts":                 {"{confirm: 1, maxGone: 1}", "${jsonPath('$.country')}", 1, true, []string{"a", "b"}},
		"parts by hash, confirmed": {"{confirm: 2, maxGone: 1, minShare: 0}", "${hash()}", 3, false, []string{"a", "b"}},
	} {
		for seed := range seeds {
			t.Run(fmt.Sprint(name, "/seed ", seed), func(t *testing.T) {
				both := onBothDatabases
				if seed > 0 { // the server has no rule of its own
					both = onSQLite
				}
				both(t, func(t *testing.T, database string) {
					w, random := newFigures(t, database, c.snapshot, c.id, c.parts...), rand.New(rand.NewPCG(seed, 9))
					for ago := range 4 {
						w.begin(w.now.AddDate(0, 0, -ago))
					}
					w.harvest()
					for round := range 7 {
						before, _ := w.stored()
						w.upset(random, c.short)
						w.harvest()
						w.up.random = nil
						w.goneRightly(round, before)
					}
					clear(w.up.broken)
					clear(w.up.short)
					for range c.quiet {
						w.harvest()
					}
					days := []string{w.day(1), w.day(2), w.day(3), w.day(4)}
					want, active := w.up.rows(days), map[string]int{}
					stored, _ := w.stored()
					for row, n := range stored {
						if slices.Contains(days, row[:len(time.DateOnly)]) {
							active[row] = n
						}
					}
					if !maps.Equal(active, want) {
						t.Errorf("stored %v\n  there %v", active, want)
					}
				})
			})
		}
	}
}

// upset lets the days of the next round change while they are read, and some of them lie.
func (w *figureWorld) upset(random *rand.Rand, short bool) {
	lied := maps.Clone(w.up.short)
	clear(w.up.broken)
	clear(w.up.short)
	clear(w.up.lacked)
	if random.IntN(2) == 0 {
		w.up.broken[w.pick(random)] = true
	}
	if one := w.pick(random); short && random.IntN(2) == 0 && w.up.count(one) > 5 && !lied[one] { // two days in a row would be believed
		w.up.short[one] = true
	}
	for row := range w.names {
		w.up.lacked[w.names[row]] = true
	}
	for row := range w.up.rows(slices.Collect(maps.Keys(w.up.days))) {
		delete(w.up.lacked, row)
	}
	w.up.random = rand.New(rand.NewPCG(random.Uint64(), 1))
}

// pick chooses a reading of the last days.
func (w *figureWorld) pick(random *rand.Rand) string {
	all := w.up.readings(w.day(random.IntN(3)))
	return all[random.IntN(len(all))]
}

// count is how many rows a reading has now.
func (f *figures) count(reading string) (n int) {
	day, _, _ := strings.Cut(reading, "/")
	for country := range f.days[day] {
		if f.reading(day+"/"+country) == reading {
			n++
		}
	}
	return n
}

// goneRightly expects of rows that became gone in a round that they were not there at some time of it, and that
// their day could be read.
func (w *figureWorld) goneRightly(round int, before map[string]int) {
	w.Helper()
	_, gone := w.stored()
	for row := range gone {
		of := w.up.reading(row)
		if _, was := before[row]; was && (!w.up.lacked[row] || w.up.broken[of] || w.up.short[of]) {
			w.Errorf("round %d: %s is gone; lacked %v, broken %v, short %v", round, row, w.up.lacked[row], w.up.broken[of], w.up.short[of])
		}
	}
}

// A day that shows too little is stored and is a gap; nothing of it is gone. A backfill of the day that says that
// this is all of it replaces what the harvest has stored.
func TestADayThatShowsTooLittleReplacesNothing(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newFigures(t, database, "{confirm: 1, maxGone: 1}", "${jsonPath('$.country')}")
		for ago := range 4 {
			w.up.days[w.day(ago)] = map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}
		}
		w.harvest()
		w.up.short[w.day(1)] = true
		short := w.day(1)
		w.harvest()
		if active, gone := w.stored(); len(gone) > 0 || len(active) < 6 {
			t.Fatalf("%v are gone, %v are there", gone, active)
		}
		covered, err := w.app.Inspect.CoverageOf(t.Context(), w.src)
		if err != nil || len(covered.All) != 1 {
			t.Fatalf("%+v %v", covered, err)
		}
		cursor := covered.All[0].Cursor.ID
		readings, err := w.app.Cursors.ListReadings(t.Context(), cursor, 0, 20)
		w.must(err)
		at := slices.IndexFunc(readings, func(r view.WholeReading) bool { return r.State == generation.Shrunk })
		if at < 0 || readings[at].Unit != short || readings[at].Items != 2 || readings[at].Last != 6 || !strings.Contains(readings[at].Why, "2 of the 6 ids") {
			t.Fatalf("%+v", readings)
		}
		if _, err := w.app.Cursors.Accept(t.Context(), cursor, ingest.Act{Actor: "ada", Reason: "all of it"}); err == nil {
			t.Error("a reading of a window is accepted")
		}
		from, err := time.Parse(time.DateOnly, short)
		w.must(err)
		set, err := registry.ParseOverride("snapshot.minShare=0")
		w.must(err)
		again, err := Compile(w.src, "", ingest.Backfill, []registry.Override{set})
		w.must(err)
		to := from.AddDate(0, 0, 1)
		campaign, empty, err := w.app.OpenCampaign(t.Context(), again, CampaignWish{Now: w.now, From: &from, To: &to, Typed: window.Text(from) + ".." + window.Text(to), By: tester})
		if err != nil || empty != "" {
			t.Fatalf("%q, %v", empty, err)
		}
		if stand, err := w.app.Backfill(t.Context(), again, campaign, CampaignRun{Now: fixed(w.now)}); err != nil || stand.State != ingest.CampaignCompleted {
			t.Fatalf("%+v %v", stand, err)
		}
		if _, gone := w.stored(); len(gone) != 4 {
			t.Errorf("%v are gone", gone)
		}
	})
}

// A part of a day that cannot be read is behind by itself, and its reading is broken. What was stored of it stays, and the other
// part is replaced.
func TestAPartOfADayThatFailsIsBehindAlone(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newFigures(t, database, "{confirm: 1, maxGone: 1}", "${jsonPath('$.country')}", "a", "b")
		for ago := range 4 {
			w.begin(w.now.AddDate(0, 0, -ago))
		}
		w.harvest()
		w.stored() // notes which record is which row
		day := w.now.AddDate(0, 0, -1).Format(time.DateOnly)
		delete(w.up.days[day], "a/c1")
		delete(w.up.days[day], "b/c1")
		w.up.broken[day+"/b"] = true
		w.harvest()
		if _, gone := w.stored(); len(gone) != 1 || !maps.Equal(gone, map[string]int{day + "/a/c1": 0}) {
			t.Errorf("%v are gone", gone)
		}
		own, _ := w.list.Namespace()
		lags, err := w.app.store.SectorLags(t.Context(), own)
		w.must(err)
		if len(lags) != 1 || lags[0].Sector != "part=b" || lags[0].Window.From.Format(time.DateOnly) != day {
			t.Errorf("behind are %+v", lags)
		}
		covered, err := w.app.Inspect.CoverageOf(t.Context(), w.src)
		w.must(err)
		readings, err := w.app.Cursors.ListReadings(t.Context(), covered.All[0].Cursor.ID, 0, 100)
		w.must(err)
		for _, r := range readings {
			if broken := r.State == generation.Broken; broken != (r.Unit == day+" part=b" && r.ID == newestOf(readings, r.Unit)) {
				t.Errorf("reading of %q is %s", r.Unit, r.State)
			}
		}
	})
}

// newestOf returns the newest reading of a unit.
func newestOf(readings []view.WholeReading, unit string) (id int64) {
	for _, r := range readings {
		if r.Unit == unit {
			id = max(id, r.ID)
		}
	}
	return id
}

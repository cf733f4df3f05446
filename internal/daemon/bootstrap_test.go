package daemon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

const bootstrapSource = `source: both
name: Both
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
retry: {maxAttempts: 1, taskAttempts: 1, initialDelay: PT0.01S}
filter: {field: changed, precision: SECOND}
endpoints:
  works:
    role: SEARCH
    request: {path: /works, query: {from: "${filter.from}", to: "${filter.to}"}}
    paging: {type: ONE}
    window: {bootstrap: dump, lookback: PT2H, safetyLag: PT1M, maxSafetyLag: PT1M}
    response: {items: $.items, id: $.id, updatedAt: $.changed, filtered: $.changed, fields: {n: $.n}}
  dump:
    role: FILE
    files: {listing: index, every: P1D, age: PT6H}
    response: {format: JSONL, items: $, id: $.id, updatedAt: $.changed, fields: {n: $.n}}
  index:
    role: LISTING
    request: {path: /index}
    paging: {type: ONE}
    response: {items: $.files, id: $.name, updatedAt: $.date, fields: {address: $.url, lines: $.lines}}
`

// The margins that the source declares.
const (
	bootAge      = 6 * time.Hour
	bootLookback = 2 * time.Hour
	bootLag      = time.Minute
)

type bootWork struct {
	ID      string    `json:"id"`
	Changed time.Time `json:"changed"`
	N       int       `json:"n"`
	shown   time.Time // from when on the list has it
}

type bootFile struct {
	date  time.Time
	lines []string
}

// bootUpstream is a list that changes, and files that were made of it at some time before.
type bootUpstream struct {
	mu     sync.Mutex
	random *rand.Rand
	now    time.Time
	works  map[string]bootWork
	files  map[string]bootFile
	lost   string // a file that is listed and not served
	asked  []string
	change func() // happens while files are read
}

// happen lets some time go by in which works come, change and go. Some are shown only a while
// after their date.
func (u *bootUpstream) happen(d time.Duration, n int) {
	for range n {
		at := u.now.Add(time.Duration(u.random.Int64N(int64(d)))).Truncate(time.Second)
		id := fmt.Sprint("w", u.random.IntN(60))
		switch old, there := u.works[id]; {
		case there && u.random.IntN(5) == 0:
			delete(u.works, id)
		case at.After(old.Changed):
			u.works[id] = bootWork{ID: id, Changed: at, N: old.N + 1, shown: at.Add(time.Duration(u.random.Int64N(int64(bootLookback - bootLag))))}
		}
	}
	u.now = u.now.Add(d)
}

// dump makes files of the works. Each has the date at which it was ready, and what was shown up to
// a while before.
func (u *bootUpstream) dump(parts int) {
	for part := range parts {
		asOf := u.now
		u.happen(time.Duration(1+u.random.Int64N(int64(bootAge)-1)), 5)
		f := bootFile{date: u.now}
		for _, id := range slices.Sorted(maps.Keys(u.works)) {
			if w := u.works[id]; len(id)%parts == part && !w.Changed.After(asOf) && !w.shown.After(asOf) {
				line, _ := json.Marshal(w)
				f.lines = append(f.lines, string(line)+"\n")
			}
		}
		f.lines = append(f.lines, fmt.Sprintf(`{"id":"part%d","changed":%q,"n":0}`+"\n", part, asOf.Format(time.RFC3339))) // none is empty
		u.files[fmt.Sprintf("part%d.jsonl", part)] = f
	}
}

func (u *bootUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, r.URL.Path)
	switch name := strings.TrimPrefix(r.URL.Path, "/"); name {
	case "index":
		all := []any{}
		for name, f := range u.files {
			all = append(all, map[string]any{"name": name, "url": name, "date": f.date.Format(time.RFC3339Nano), "lines": len(f.lines)})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"files": all})
	case "works":
		from, _ := time.Parse(time.RFC3339, r.FormValue("from"))
		to, _ := time.Parse(time.RFC3339, r.FormValue("to"))
		out := []bootWork{}
		for _, work := range u.works {
			if !work.shown.After(u.now) && !work.Changed.Before(from) && !work.Changed.After(to) {
				out = append(out, work)
			}
		}
		slices.SortFunc(out, func(a, b bootWork) int { return cmp.Compare(a.ID, b.ID) })
		_ = json.NewEncoder(w).Encode(map[string]any{"items": out})
	default:
		f, ok := u.files[name]
		if !ok || name == u.lost {
			http.NotFound(w, r)
			return
		}
		if u.change != nil {
			u.change()
		}
		_, _ = w.Write([]byte(strings.Join(f.lines, "")))
	}
}

type bootWorld struct {
	*filesWorld
	up  *bootUpstream
	url string
}

func newBootWorld(t *testing.T, database string, seed uint64) *bootWorld {
	t.Helper()
	w := &bootWorld{filesWorld: newFilesWorld(t, database, bootstrapSource)}
	w.up = &bootUpstream{random: rand.New(rand.NewPCG(seed, 1)), now: w.now, works: map[string]bootWork{}, files: map[string]bootFile{}}
	server := httptest.NewServer(w.up)
	t.Cleanup(server.Close)
	w.url = server.URL
	var err error
	if w.src, _, err = registry.Decode("both.yaml", fmt.Appendf(nil, bootstrapSource, server.URL)); err != nil {
		t.Fatal(err)
	}
	return w
}

// harvestBoth harvests the list at the time of the upstream.
func (w *bootWorld) harvestBoth() Harvested {
	w.Helper()
	return w.harvest(w.up.now.Sub(w.now))
}

// stored are the newest numbers of all works, of both sets together.
func (w *bootWorld) stored() map[string]time.Time {
	w.Helper()
	out := map[string]time.Time{}
	sets, err := w.app.store.Datasets(w.Context(), "both")
	if err != nil {
		w.Fatal(err)
	}
	for _, of := range sets {
		all, err := w.app.Records.List(w.Context(), of, "", 1000)
		if err != nil {
			w.Fatal(err)
		}
		for _, r := range all {
			if r.UpdatedAt.After(out[r.ID]) {
				out[r.ID] = r.UpdatedAt
			}
		}
	}
	return out
}

// misses lists works that the list shows and that are not stored as it shows them.
func (w *bootWorld) misses() (out []string) {
	w.Helper()
	have := w.stored()
	for _, work := range w.up.works {
		if !work.shown.After(w.up.now) && work.Changed.Before(w.up.now.Add(-bootLag)) && have[work.ID].Before(work.Changed) {
			out = append(out, fmt.Sprintf("%s of %s, shown from %s on: stored is %s", work.ID, work.Changed, work.shown, have[work.ID]))
		}
	}
	return out
}

// Whatever comes, changes and goes before, between and while files are made and read, and behind
// them: files and list together have whatever the list shows. The list begins only when every
// file is read (D§5.26).
func TestListGoesOnWhereFilesEnd(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("sqlite/seed", seed), func(t *testing.T) { listGoesOnWhereFilesEnd(t, "sqlite:"+t.TempDir()+"/f.db", seed) })
	}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("mysql/seed", seed), func(t *testing.T) { listGoesOnWhereFilesEnd(t, mariadb.DSN(t), seed) })
	}
}

func listGoesOnWhereFilesEnd(t *testing.T, database string, seed uint64) {
	t.Helper()
	w := newBootWorld(t, database, seed)
	up := w.up
	up.happen(40*24*time.Hour, 80)
	up.dump(1 + up.random.IntN(3))
	up.happen(time.Duration(1+up.random.IntN(20))*24*time.Hour, 30)
	if up.random.IntN(2) == 0 {
		up.lost = "part0.jsonl"
		if h := w.harvestBoth(); !h.Draft.Empty || len(h.Continued) != 1 || h.Continued[0].Slices[string(ingest.SliceFailed)] != 1 {
			t.Fatalf("the list is read although a file is not: %+v", h.Draft)
		}
		if slices.Contains(up.asked, "/works") {
			t.Fatal("the list was asked")
		}
		up.lost = ""
		up.happen(25*time.Hour, 10)
	}
	reading := up.now
	up.change = func() { // while the files are read, as the clock of the harvest stands still
		up.now = reading.Add(-time.Hour)
		up.happen(time.Hour, 5)
	}
	h := w.harvestBoth()
	up.change = nil
	if h.Draft.Empty || len(h.Continued) != 1 {
		t.Fatalf("%+v", h.Draft)
	}
	up.happen(3*time.Hour, 10)
	w.harvestBoth()
	if missing := w.misses(); len(missing) > 0 {
		t.Errorf("%d of %d are missing:\n%s", len(missing), len(up.works), strings.Join(missing, "\n"))
	}
	fetched := len(up.asked)
	up.happen(24*time.Hour, 10)
	w.harvestBoth()
	if slices.Contains(up.asked[fetched:], "/index") {
		t.Error("the files are looked for again although the list goes on by itself")
	}
	if missing := w.misses(); len(missing) > 0 {
		t.Errorf("later %d are missing:\n%s", len(missing), strings.Join(missing, "\n"))
	}
}

// On both databases the list begins at the date of the oldest file, less its age and the lookback.
func TestListBeginsAtTheOldestFile(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newBootWorld(t, database, 1)
		oldest := w.up.now.Add(-9 * 24 * time.Hour)
		w.up.files["a"] = bootFile{oldest.Add(48 * time.Hour), []string{`{"id":"a","changed":"2025-01-01T00:00:00Z","n":1}` + "\n"}}
		w.up.files["b"] = bootFile{oldest, []string{`{"id":"b","changed":"2025-01-01T00:00:00Z","n":1}` + "\n"}}
		h := w.harvestBoth()
		if got, want := h.Draft.Window.From, oldest.Add(-bootAge-bootLookback); !got.Equal(want) {
			t.Errorf("the list begins at %s, want %s", got, want)
		}
	})
}

// The example of the documentation works: its list begins where its files end.
func TestTheExampleOfFilesFirstIsHarvested(t *testing.T) {
	text, err := os.ReadFile("../../docs/files.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text2, _ := strings.Cut(string(text), "## Files first, then the list")
	_, example, _ := strings.Cut(text2, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	w := newBootWorld(t, "sqlite:"+t.TempDir()+"/f.db", 3)
	w.src, _, err = registry.Decode("both.yaml", []byte(strings.Replace(example, `{baseUrl: "https://api.example.org"}`, fmt.Sprintf(`{baseUrl: %q, allowHttp: true, allowPrivate: true}`, w.url), 1)))
	if err != nil {
		t.Fatal(err)
	}
	w.up.happen(40*24*time.Hour, 80)
	w.up.dump(2)
	w.up.happen(5*24*time.Hour, 30)
	w.harvestBoth()
	w.up.happen(3*time.Hour, 1)
	w.harvestBoth()
	if missing := w.misses(); len(missing) > 0 {
		t.Errorf("%d of %d are missing:\n%s", len(missing), len(w.up.works), strings.Join(missing, "\n"))
	}
}

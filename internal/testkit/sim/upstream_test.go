package sim

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// The shape of time for every source: a reading ends lag before now, and items may
// appear lookback behind their stamp.
const (
	lag      = time.Minute
	lookback = 8 * time.Minute
	harvests = 2 // days a first harvest goes back
	history  = 3 // days of data before the simulation begins; the first is for a backfill
)

// upstream is one simulated source and how it is read.
type upstream struct {
	name   string // of the form
	code   string // of the source
	data   *upsim.Dataset
	server *upsim.Server
	source *registry.Source
	set    []registry.Override
	lies   upsim.Lies // that last
	folds  bool       // ids are stored in lower case, and have no version
	whole  bool       // a list without dates
	files  bool       // works that lie in files
	racks  *racks     // whose works are read one after the other; nil: there are none

	confirm int // readings that must lack an item of such a list before it is gone

	mu    sync.Mutex
	known map[string]bool // ids that were ever there, as they are stored
	stays map[string]stay
}

// forms are those that several processes can share. A rotating refresh token is
// good for one of them.
func forms() (out []simulated.Form) {
	for _, f := range simulated.Forms() {
		if f.Name != "oauth-refresh" {
			out = append(out, f)
		}
	}
	return out
}

const crossref = "crossref"

// choose draws the sources of a world.
func choose(random *rand.Rand, n int) (out []simulated.Form, withCrossref bool) {
	all := forms()
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))], random.IntN(2) == 0
}

// lessThanAWindow are lists that take no window: feeds, and those that take a lower bound
// alone. Every world has one of them.
func lessThanAWindow() []simulated.Form { return append(simulated.Feeds(), simulated.Since()...) }

func (w *world) open(f simulated.Form, random *rand.Rand) {
	o := f.Options
	if kind := o.Forms.Auth.Kind; kind == upsim.AuthOAuth || kind == upsim.AuthSession {
		o.Forms.Auth.TokenUses = 5 + random.IntN(40)
		o.Forms.Auth.TokenLife = 2 * time.Minute
	}
	settings := []string{fmt.Sprint("rate.concurrency=", 10+random.IntN(10))}
	f, o.Forms.Lies = w.lying(f)
	cuts := !slices.ContainsFunc(lessThanAWindow(), func(l simulated.Form) bool { return l.Name == f.Name })
	if random.IntN(3) == 0 && cuts { // too little for a busy window: it is cut again
		settings = append(settings, fmt.Sprint("slicing.maxRequests=", 8+random.IntN(10)))
	}
	w.add(f.Name, []byte(f.YAML("http://"+f.Name+".sim")), o, random, settings...)
}

func (w *world) openCrossref(random *rand.Rand) {
	text, err := catalog.Read(crossref)
	w.must(err)
	w.add(crossref, text, upsim.Options{Cursor: upsim.ScrollCursor}, random,
		"http.baseUrl=http://crossref.sim", "http.allowPrivate=true", "rate.concurrency=12", "rate.obeyHeaders=false", "paging.size=20",
		"retry.maxAttempts=4")
}

func (w *world) add(name string, text []byte, o upsim.Options, random *rand.Rand, settings ...string) *upstream {
	w.Helper()
	data := upsim.NewDataset(upsim.Config{Seed: random.Uint64(), From: w.began.AddDate(0, 0, -history), To: w.began, PerDay: 40 + random.IntN(80)})
	o.FaultSeed, o.LogLimit = random.Uint64(), -1
	return w.join(name, text, data, o, append([]string{"rate.perSecond=8", "rate.burst=10", "slicing.step=PT6H"}, settings...)...)
}

// join makes data known as an upstream of the world.
func (w *world) join(name string, text []byte, data *upsim.Dataset, o upsim.Options, settings ...string) *upstream {
	w.Helper()
	server, err := upsim.NewServer(data, o)
	w.must(err)
	source, _, err := registry.Decode(name+".yaml", text)
	w.must(err)
	u := &upstream{name: name, code: source.Code, data: data, server: server, source: source, lies: o.Forms.Lies, folds: name == crossref, known: map[string]bool{}, stays: map[string]stay{}}
	u.whole = slices.ContainsFunc(simulated.Whole(), func(f simulated.Form) bool { return f.Name == name })
	u.files = isFiles(name)
	for _, text := range append([]string{
		"retry.initialDelay=PT0.2S", "retry.maxDelay=PT5S",
		fmt.Sprintf("window.size=P%dD", harvests), "window.lookback=" + iso(lookback), "window.safetyLag=" + iso(lag), "window.maxSafetyLag=" + iso(3*lag),
	}, settings...) {
		set, err := registry.ParseOverride(text)
		w.must(err)
		u.set = append(u.set, set)
	}
	for work := range data.Heads() {
		u.learn(work.DOI)
	}
	w.net.listen(name+".sim", u)
	w.upstreams = append(w.upstreams, u)
	return u
}

// ServeHTTP answers as the server does that stands there now.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	server, racks := u.server, u.racks
	u.mu.Unlock()
	if racks == nil || !racks.answered(w, r) {
		server.ServeHTTP(w, r)
	}
}

func iso(d time.Duration) string { return fmt.Sprintf("PT%dS", int(d.Seconds())) }

// stored is an id as the source's records have it.
func (u *upstream) stored(id string) string {
	if u.folds {
		return strings.ToLower(id)
	}
	return id
}

func (u *upstream) learn(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.known[u.stored(id)] = true
	u.stays[u.stored(id)] = stay{came: time.Now()}
}

func (u *upstream) knew(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.known[id] || isForeign(id)
}

func (u *upstream) compile(t testing.TB, operation ingest.Operation) *spec.Compiled {
	t.Helper()
	return u.compileEndpoint(t, simulated.Endpoint, operation)
}

func (u *upstream) compileEndpoint(t testing.TB, endpoint string, operation ingest.Operation) *spec.Compiled {
	t.Helper()
	resolved, err := registry.Resolve(u.source, endpoint, string(operation), u.set)
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.Compile(resolved)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *world) faults(u *upstream, script string) {
	list, err := upsim.ParseFaults(script)
	if err == nil {
		err = u.server.SetFaults(list)
	}
	if err != nil {
		w.Error(err)
	}
}

// change is what happens to the works of an upstream: new ones, some of them late,
// changed ones, ones that are indexed again, and removals. The stamp of a work
// never goes back, and never lies further back than late arrivals may.
func (w *world) change(u *upstream) {
	random := w.random("change", u.name)
	var ids []string
	for work := range u.data.Heads() {
		ids = append(ids, work.DOI)
	}
	slices.Sort(ids)
	for w.pass(about(random, 12*time.Second)) {
		now := time.Now().Truncate(time.Second)
		if u.racks != nil {
			w.changeOnRack(u, random, now)
			continue
		}
		if random.IntN(3) == 0 {
			now = now.Add(-time.Duration(random.Int64N(int64(lookback - time.Minute)))).Truncate(time.Second)
		}
		if random.IntN(2) == 0 {
			id, err := u.data.Add("", now)
			if err != nil {
				w.Error(err)
				return
			}
			ids = append(ids, id)
			u.learn(id)
			continue
		}
		i := random.IntN(len(ids))
		truth, ok := u.data.Lookup(ids[i])
		switch {
		case !ok:
			ids = slices.Delete(ids, i, i+1)
		case random.IntN(8) == 0:
			u.leave(ids[i])
			_ = u.data.Remove(ids[i]) // it is there
		case now.After(truth.Indexed):
			_ = u.data.Touch(ids[i], now, random.IntN(3) > 0)
		}
	}
}

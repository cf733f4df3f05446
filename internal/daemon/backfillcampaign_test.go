package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// past is an upstream with years of works, and a database that campaigns fill.
type past struct {
	*testing.T
	data     *upsim.Dataset
	server   *upsim.Server
	file     string
	settings []string

	mu     sync.Mutex
	during func(upsim.Entry)
	begun  map[string]int // how often a window was asked for its first page
	last   string         // the window that was asked for last
}

var decade = window.Window{From: time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}

func newPast(t *testing.T, c upsim.Config, faults ...upsim.Fault) *past {
	t.Helper()
	p := &past{T: t, file: filepath.Join(t.TempDir(), "patra.db"), begun: map[string]int{}}
	p.data = upsim.NewDataset(c)
	server, err := upsim.NewServer(p.data, upsim.Options{OnEntry: p.entry, Faults: faults, LogLimit: -1})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	p.server = server
	p.settings = []string{
		"http.baseUrl=" + server.URL(), "http.allowPrivate=true", "rate.obeyHeaders=false", "retry.initialDelay=PT0.001S", "retry.maxDelay=PT0.002S",
		"retry.maxAttempts=1", "retry.taskAttempts=1", "slicing.step=P30D", "paging.size=20",
	}
	return p
}

func (p *past) entry(e upsim.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = e.Query.Get("filter")
	if e.Query.Get("cursor") == "*" {
		p.begun[p.last]++
	}
	if p.during != nil {
		p.during(e)
	}
}

// open opens the database as another process would.
func (p *past) open(workers int) *App {
	p.Helper()
	app, err := Open(p.Context(), Config{Database: "sqlite:" + p.file, Relaxed: true, Workers: workers, Raw: RawConfig{Off: true}})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { app.Close() })
	return app
}

func (p *past) compiled(op ingest.Operation, more ...string) *spec.Compiled {
	p.Helper()
	src, err := Bundled("crossref")
	if err != nil {
		p.Fatal(err)
	}
	simulated.ByDay(src) // these tests count requests: none of them is to count works
	src.Rate.PerSecond, src.Rate.Burst, src.Rate.Concurrency = 5000, 50, 8
	var set []registry.Override
	for _, text := range slices.Concat([]string{"rate.perSecond=5000", "rate.burst=50", "rate.concurrency=8"}, p.settings, more) {
		o, err := registry.ParseOverride(text)
		if err != nil {
			p.Fatal(err)
		}
		set = append(set, o)
	}
	c, err := Compile(src, "", op, set)
	if err != nil {
		p.Fatal(err)
	}
	return c
}

func (p *past) campaign(app *App, c *spec.Compiled, w CampaignWish) ingest.Campaign {
	p.Helper()
	if w.Now.IsZero() {
		w.Now = decade.To.AddDate(0, 1, 0)
	}
	if w.Typed == "" && w.From != nil {
		w.Typed = window.Text(*w.From) + ".." + window.Text(*w.To)
	}
	w.By = tester
	campaign, empty, err := app.OpenCampaign(p.Context(), c, w)
	if err != nil || empty != "" {
		p.Fatalf("%q, %v", empty, err)
	}
	return campaign
}

func wish(name string, of window.Window) CampaignWish {
	return CampaignWish{Name: name, From: &of.From, To: &of.To}
}

// whole holds the database against the truth and the invariants.
func (p *past) whole(app *App, until time.Time) {
	p.Helper()
	db, err := check.Open("sqlite:" + p.file)
	if err != nil {
		p.Fatal(err)
	}
	defer db.Close()
	problems, err := check.All(p.Context(), db)
	if err != nil {
		p.Fatal(err)
	}
	var have []check.Item
	known, rejected := map[string]bool{}, 0
	for work := range p.data.All() {
		known[strings.ToLower(work.DOI)] = true
		if !work.Indexed.Before(until) {
			continue
		}
		if work.Bad != upsim.Sound {
			rejected++
			continue
		}
		have = append(have, check.Item{ID: strings.ToLower(work.DOI), Stamp: work.Indexed})
	}
	lost, err := check.Lost(p.Context(), db, "crossref", "works", have, nil, func(id string) bool { return known[id] })
	if err != nil {
		p.Fatal(err)
	}
	for _, problem := range append(problems, lost...) {
		p.Error(problem)
	}
	counts, err := app.store.Counts(p.Context(), "crossref")
	if err != nil || counts.Quarantined < int64(rejected) || len(have) == 0 {
		p.Errorf("%d in quarantine of %d, %d works, %v", counts.Quarantined, rejected, len(have), err)
	}
}

// Ten years, interrupted fifty times, each time by a process that begins anew: all
// of it is stored or in quarantine, no window is read twice but the one that an
// interruption hit, and the harvest's cursor is where it was (I2, I5, I6).
func TestTenYearsInterruptedFiftyTimes(t *testing.T) {
	p := newPast(t, upsim.Config{Seed: 9, From: decade.From, To: decade.To.AddDate(0, 0, 20), PerDay: 1, Flat: true, BadIDEvery: 501})
	app := p.open(1)
	now := decade.To.AddDate(0, 0, 21)
	if _, err := app.Harvest(t.Context(), p.compiled(ingest.Harvest), NewRequest(now, &decade.To, nil), Watch{}); err != nil {
		t.Fatal(err)
	}
	before := cursorsOf(t, app, ingest.Harvest)
	clear(p.begun)

	c := p.compiled(ingest.Backfill)
	w := wish("decade", decade)
	w.Now, w.Chunk = now, 365*24*time.Hour
	const interruptions = 50
	hit := map[string]bool{}
	for n := range interruptions {
		app := p.open(1)
		campaign := p.campaign(app, c, w)
		ctx, stop := context.WithCancel(t.Context())
		left := 2 + n%5
		p.mu.Lock()
		p.during = func(upsim.Entry) {
			if left--; left == 0 {
				hit[p.last] = true
				stop()
			}
		}
		p.mu.Unlock()
		stand, err := app.Backfill(ctx, c, campaign, CampaignRun{Now: fixed(now)})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("interruption %d: %+v, %v", n, stand, err)
		}
		stop()
		if n%10 == 0 {
			if v, err := app.store.ShowCampaign(t.Context(), campaign); err != nil || v.Percent >= 100 || len(v.Open) > 3 || v.Waiting > 40 {
				t.Errorf("after %d: %.1f %%, plans %v, %d tasks wait, %v", n, v.Percent, v.Open, v.Waiting, err)
			}
		}
		app.Close()
	}
	p.mu.Lock()
	p.during = nil
	p.mu.Unlock()
	campaign := p.campaign(app, c, w)
	stand, err := app.Backfill(t.Context(), c, campaign, CampaignRun{Now: fixed(now)})
	if err != nil || stand.State != ingest.CampaignCompleted {
		t.Fatalf("%+v, %v", stand, err)
	}
	p.whole(app, decade.To)
	for asked, n := range p.begun {
		if n > 1 && !hit[asked] {
			t.Errorf("%s was read %d times, and no interruption hit it", asked, n)
		}
	}
	if len(p.begun) < 120 || len(hit) < 20 {
		t.Errorf("%d windows, %d of them hit: too little was tried", len(p.begun), len(hit))
	}
	if after := cursorsOf(t, app, ingest.Harvest); !reflect.DeepEqual(after, before) {
		t.Errorf("the harvest's cursor was %+v and is %+v", before, after)
	}
	if own := cursorsOf(t, app, ingest.Backfill); len(own) != 1 || !own[0].Instant.Equal(decade.To) {
		t.Errorf("the campaign's own cursor: %+v", own)
	}
	asked := p.server.Requests()
	if stand, err := app.Backfill(t.Context(), c, p.campaign(app, c, w), CampaignRun{Now: fixed(now)}); err != nil || stand.State != ingest.CampaignCompleted || p.server.Requests() != asked {
		t.Errorf("again: %+v, %v, %d requests", stand, err, p.server.Requests()-asked)
	}
}

func fixed(now time.Time) func(context.Context) (time.Time, error) {
	return func(context.Context) (time.Time, error) { return now, nil }
}

func years(from, to int) window.Window {
	return window.Window{From: time.Date(from, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(to, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Two campaigns and a harvest beside each other, in three processes: each reads its
// own, none touches another's book.
func TestCampaignsAndAHarvestBesideEachOther(t *testing.T) {
	p := newPast(t, upsim.Config{Seed: 3, From: years(2021, 2022).From, To: decade.To, PerDay: 2, Flat: true})
	now := decade.To.AddDate(0, 0, 1)
	c := p.compiled(ingest.Backfill)
	oldest := wish("oldest", years(2021, 2023))
	oldest.Order, oldest.Chunk, oldest.Now = ingest.OldestFirst, 100*24*time.Hour, now
	newest := wish("newest", years(2022, 2024))
	newest.Chunk, newest.Now = 50*24*time.Hour, now
	first := years(2024, 2025).From
	var all sync.WaitGroup
	for _, w := range []CampaignWish{oldest, newest} {
		app := p.open(2)
		campaign := p.campaign(app, c, w)
		all.Go(func() {
			if stand, err := app.Backfill(t.Context(), c, campaign, CampaignRun{Now: fixed(now)}); err != nil || stand.State != ingest.CampaignCompleted {
				t.Errorf("%s: %+v, %v", w.Name, stand, err)
			}
			app.Close()
		})
	}
	harvester := p.open(2)
	all.Go(func() {
		if _, err := harvester.Harvest(t.Context(), p.compiled(ingest.Harvest), NewRequest(now, &first, &decade.To), Watch{}); err != nil {
			t.Error(err)
		}
		harvester.Close()
	})
	all.Wait()
	app := p.open(1)
	p.whole(app, decade.To)
	if own := cursorsOf(t, app, ingest.Backfill); len(own) != 2 {
		t.Errorf("%d campaign cursors", len(own))
	}
	if own := cursorsOf(t, app, ingest.Harvest); len(own) != 1 || !own[0].Instant.Equal(decade.To) || !own[0].Origin.Equal(first) {
		t.Errorf("%+v", own)
	}
	for _, name := range []string{"oldest", "newest"} {
		p.readInOrder(app, name)
	}
}

// readInOrder checks which end a campaign was read from.
func (p *past) readInOrder(app *App, name string) {
	p.Helper()
	c, _, err := app.store.Campaign(p.Context(), name)
	if err != nil {
		p.Fatal(err)
	}
	plans, err := app.store.Plans(p.Context(), view.Filter{Limit: 1000})
	if err != nil {
		p.Fatal(err)
	}
	var at []time.Time // newest plan first
	for _, plan := range plans {
		if plan.Operation == string(ingest.Backfill) && c.Range.From.Compare(plan.Window.From) <= 0 && plan.Window.To.Compare(c.Range.To) <= 0 {
			if detail, err := app.store.Plan(p.Context(), plan.ID); err != nil {
				p.Fatal(err)
			} else if detail.CursorID == c.CursorID {
				at = append(at, plan.Window.From)
			}
		}
	}
	if len(at) < 5 {
		p.Errorf("%s was planned in %d parts", name, len(at))
	}
	for i := 1; i < len(at); i++ {
		if earlier := at[i].Before(at[i-1]); earlier != (c.Order == ingest.OldestFirst) {
			p.Errorf("%s: part of %s before that of %s", name, at[i], at[i-1])
		}
	}
}

// A pause stops a campaign within one batch, a running one too; another campaign of
// the same source goes on, and resuming goes on where it was.
func TestPauseStopsWithinOneBatch(t *testing.T) {
	p := newPast(t, upsim.Config{Seed: 4, From: years(2022, 2023).From, To: years(2024, 2025).From, PerDay: 2, Flat: true})
	app, now := p.open(1), decade.To
	c := p.compiled(ingest.Backfill)
	w := wish("stopped", years(2022, 2023))
	w.Now, w.Chunk = now, 100*24*time.Hour
	campaign := p.campaign(app, c, w)
	requests := 0
	p.during = func(upsim.Entry) {
		if requests++; requests == 3 {
			if done, err := app.Campaigns.Pause(t.Context(), "stopped", tester); err != nil || !done.Changed || done.Running != 1 {
				t.Errorf("%+v, %v", done, err)
			}
		}
	}
	_, err := app.Backfill(t.Context(), c, campaign, CampaignRun{Now: fixed(now)})
	var stopped ingest.CampaignStopped
	if !errors.As(err, &stopped) || !errors.Is(err, fault.ErrConflict) || requests != 3 {
		t.Fatalf("%d requests, %v", requests, err)
	}
	p.during = nil
	if _, _, err := app.OpenCampaign(t.Context(), c, func() CampaignWish { w.Typed = ""; return w }()); !errors.As(err, &stopped) {
		t.Errorf("a paused campaign is taken up: %v", err)
	}
	v, err := app.store.ShowCampaign(t.Context(), stopped.Campaign)
	if err != nil || v.Running != 0 || v.Waiting == 0 || len(v.Failed) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	other := wish("other", years(2023, 2024))
	other.Now = now
	if stand, err := app.Backfill(t.Context(), c, p.campaign(app, c, other), CampaignRun{Now: fixed(now)}); err != nil || stand.State != ingest.CampaignCompleted {
		t.Errorf("the other campaign: %+v, %v", stand, err)
	}
	if again, err := app.store.ShowCampaign(t.Context(), stopped.Campaign); err != nil || again.Percent != v.Percent || again.Waiting != v.Waiting {
		t.Errorf("the paused one was worked on: %.1f %% and %d, was %.1f %% and %d, %v", again.Percent, again.Waiting, v.Percent, v.Waiting, err)
	}
	if _, err := app.Campaigns.Resume(t.Context(), "stopped", tester); err != nil {
		t.Fatal(err)
	}
	if stand, err := app.Backfill(t.Context(), c, p.campaign(app, c, w), CampaignRun{Now: fixed(now)}); err != nil || stand.State != ingest.CampaignCompleted {
		t.Errorf("%+v, %v", stand, err)
	}
	p.whole(app, years(2024, 2025).From)
}

// A cancelled campaign leaves what it has not read owed, and takes no further plan;
// taken up again it reads just that.
func TestCancelledCampaignLeavesTheRestOwed(t *testing.T) {
	p := newPast(t, upsim.Config{Seed: 5, From: years(2022, 2023).From, To: years(2023, 2024).From, PerDay: 2, Flat: true})
	app, now := p.open(1), decade.To
	c := p.compiled(ingest.Backfill)
	w := wish("given-up", years(2022, 2023))
	w.Now, w.Chunk = now, 100*24*time.Hour
	campaign := p.campaign(app, c, w)
	requests := 0
	p.during = func(upsim.Entry) {
		if requests++; requests == 12 {
			if done, err := app.Campaigns.Cancel(t.Context(), "given-up", tester); err != nil || !done.Changed || len(done.Plans) == 0 {
				t.Errorf("%+v, %v", done, err)
			}
		}
	}
	if _, err := app.Backfill(t.Context(), c, campaign, CampaignRun{Now: fixed(now)}); !errors.Is(err, fault.ErrConflict) || requests != 12 {
		t.Fatalf("%d requests, %v", requests, err)
	}
	p.during = nil
	v, err := app.store.ShowCampaign(t.Context(), campaign)
	if err != nil || v.Percent <= 0 || v.Percent >= 100 || len(v.Open) != 0 || v.Waiting+v.Running != 0 {
		t.Fatalf("%+v, %v", v, err)
	}
	segments, err := app.store.Segments(t.Context(), campaign.CursorID)
	if err != nil {
		t.Fatal(err)
	}
	owed := time.Duration(0)
	for _, seg := range segments {
		if !seg.Done() && !seg.Want.IsZero() {
			owed += seg.Window.Duration()
		}
	}
	if owed != v.Total-v.Done {
		t.Errorf("%s of %s that were not read are owed", owed, v.Total-v.Done)
	}
	if _, _, err := app.Planner.Plan(t.Context(), c, planRequest(w)); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("a plan in a cancelled campaign: %v", err)
	}
	if _, err := app.Campaigns.Resume(t.Context(), "given-up", tester); err != nil {
		t.Fatal(err)
	}
	// What was cancelled waits as after a failure, by the store's clock.
	later := fixed(time.Now().Add(2 * time.Minute))
	app2, err := Open(t.Context(), Config{Database: "sqlite:" + p.file, Relaxed: true, Raw: RawConfig{Off: true}, Clock: func() time.Time { return time.Now().Add(2 * time.Minute) }})
	if err != nil {
		t.Fatal(err)
	}
	defer app2.Close()
	if stand, err := app2.Backfill(t.Context(), c, p.campaign(app2, c, w), CampaignRun{Now: later}); err != nil || stand.State != ingest.CampaignCompleted {
		t.Errorf("%+v, %v", stand, err)
	}
	p.whole(app2, years(2023, 2024).From)
}

func planRequest(w CampaignWish) planner.Request {
	r := NewRequest(w.Now, w.From, w.To)
	r.Campaign = w.Name
	return r
}

// A window that fails does not stop the campaign; it stays owed and visible, and
// the campaign is not complete.
func TestFailedWindowStaysOwed(t *testing.T) {
	broken := "from-index-date:2022-06-1" // one slice: more would open the breaker
	p := newPast(t, upsim.Config{Seed: 6, From: years(2022, 2023).From, To: years(2023, 2024).From, PerDay: 1, Flat: true}, upsim.Fault{
		Kind: upsim.Fault500, When: func(h upsim.Hit) bool { return strings.Contains(h.Query.Get("filter"), broken) },
	})
	app, now := p.open(1), decade.To
	c := p.compiled(ingest.Backfill, "slicing.step=P10D")
	w := wish("", years(2022, 2023))
	w.Now, w.Chunk = now, 50*24*time.Hour
	campaign := p.campaign(app, c, w)
	if !strings.HasPrefix(campaign.Name, "crossref-") {
		t.Errorf("a campaign without a name is called %s", campaign.Name)
	}
	stand, err := app.Backfill(t.Context(), c, campaign, CampaignRun{Now: fixed(now)})
	v, err2 := app.store.ShowCampaign(t.Context(), campaign)
	if err != nil || err2 != nil || stand.State != ingest.CampaignActive || len(stand.Waiting) == 0 || len(v.Failed) == 0 || v.Percent < 80 || v.Percent >= 100 || v.Pace <= 0 || v.Left == nil {
		t.Errorf("%+v\n%+v\n%v %v", stand, v, err, err2)
	}
}

// A campaign that goes on under another question is refused: what it has read would
// pass for an answer to that one.
func TestChangedQuestionIsAnotherCampaign(t *testing.T) {
	p := newPast(t, upsim.Config{Seed: 6, From: years(2022, 2023).From, To: years(2023, 2024).From, PerDay: 1, Flat: true})
	app := p.open(1)
	w := wish("same", years(2022, 2023))
	campaign := p.campaign(app, p.compiled(ingest.Backfill), w)
	other := p.compiled(ingest.Backfill, `query.where=oneOf(type, "journal-article")`)
	w.Now = decade.To
	if _, _, err := app.OpenCampaign(t.Context(), other, w); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("opened under another question: %v", err)
	}
	if _, err := app.Backfill(t.Context(), other, campaign, CampaignRun{Now: fixed(decade.To)}); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("worked on under another question: %v", err)
	}
	elsewhere := wish("same", years(2021, 2023))
	elsewhere.Typed, elsewhere.Now = "other words", decade.To
	if _, _, err := app.OpenCampaign(t.Context(), p.compiled(ingest.Backfill), elsewhere); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("opened for another range: %v", err)
	}
}

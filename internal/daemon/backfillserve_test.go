package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/upsim"
)

// applied is a past whose source is applied: a process that serves has nothing else.
func applied(t *testing.T, change func(*registry.Source)) (*past, *App) {
	t.Helper()
	p := newPast(t, upsim.Config{Seed: 8, From: years(2022, 2023).From, To: years(2024, 2025).From, PerDay: 2, Flat: true})
	app := p.open(4)
	p.apply(app, change)
	return p, app
}

func (p *past) apply(app *App, change func(*registry.Source)) {
	p.Helper()
	src, err := Bundled("crossref")
	if err != nil {
		p.Fatal(err)
	}
	src.Rate.PerSecond, src.Rate.Burst, src.Rate.Concurrency = 5000, 50, 8
	if change != nil {
		change(src)
	}
	if _, err := app.store.ApplySource(p.Context(), src, registry.ApplyOptions{}); err != nil {
		p.Fatal(err)
	}
}

// served is what a planner and an executor do in turns until neither has anything
// to do; it tells the most tasks that ever waited.
func (p *past) served(app *App) (most int) {
	p.Helper()
	for range 1000 {
		if err := (schedules{app: app, told: map[string]string{}}).Upkeep(p.Context()); err != nil {
			p.Fatal(err)
		}
		stock, err := app.store.Stock(p.Context(), ingest.Partition{Dataset: ingest.Dataset{Source: "crossref", Endpoint: "works"}, Operation: ingest.Backfill})
		if err != nil {
			p.Fatal(err)
		}
		if most = max(most, stock); stock == 0 {
			return most
		}
		if err := app.workUntil(p.Context(), ingest.Partition{}, 0, nil, func(context.Context) (bool, error) { return true, nil }); err != nil {
			p.Fatal(err)
		}
	}
	p.Fatal("the campaigns have no end")
	return most
}

// Whoever serves goes on with every campaign, part by part, under the settings it
// began with; a paused one is left alone, and so is all of a paused source.
func TestServeWorksOnCampaigns(t *testing.T) {
	p, app := applied(t, nil)
	for name, w := range map[string]CampaignWish{"first": wish("first", years(2022, 2023)), "second": wish("second", years(2023, 2024)), "held": wish("held", years(2022, 2024))} {
		w.Chunk, w.Overrides, w.Now = 60*24*time.Hour, p.settings, decade.To
		c, err := app.CompileCampaign(t.Context(), ingest.Campaign{NewCampaign: ingest.NewCampaign{Dataset: ingest.Dataset{Source: "crossref", Endpoint: "works"}, Overrides: p.settings}})
		if err != nil {
			t.Fatal(err)
		}
		p.campaign(app, c, w)
		if name == "held" {
			if _, err := app.Campaigns.Pause(t.Context(), name, tester); err != nil {
				t.Fatal(err)
			}
		}
	}
	scope := ingest.Scope{Source: "crossref", Operation: ingest.Backfill}
	if _, err := app.Operator.Pause(t.Context(), scope, tester); err != nil {
		t.Fatal(err)
	}
	if most := p.served(app); most != 0 || p.server.Requests() != 0 {
		t.Errorf("%d tasks and %d requests for a source that is paused", most, p.server.Requests())
	}
	if _, err := app.Operator.Resume(t.Context(), scope, tester); err != nil {
		t.Fatal(err)
	}
	most := p.served(app)
	for name, want := range map[string]ingest.CampaignState{"first": ingest.CampaignCompleted, "second": ingest.CampaignCompleted, "held": ingest.CampaignPaused} {
		if c, _, err := app.store.Campaign(t.Context(), name); err != nil || c.State != want {
			t.Errorf("%s is %s, %v", name, c.State, err)
		}
	}
	// Three parts of 60 days and slices of 30, of each of two campaigns.
	if most == 0 || most > 2*3*2 {
		t.Errorf("%d tasks waited at once", most)
	}
	p.whole(app, years(2024, 2025).From)
}

// A campaign whose source asks for something else by now does not go on, and says
// why to whoever looks; the others do.
func TestServeNotesWhatCannotGoOn(t *testing.T) {
	p, app := applied(t, nil)
	of := ingest.Campaign{NewCampaign: ingest.NewCampaign{Dataset: ingest.Dataset{Source: "crossref", Endpoint: "works"}, Overrides: p.settings}}
	c, err := app.CompileCampaign(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	w := wish("stranded", years(2022, 2023))
	w.Overrides = p.settings
	p.campaign(app, c, w)
	other := wish("other", years(2023, 2024))
	other.Overrides = p.settings
	p.campaign(app, c, other)
	if _, err := sqlExec(p.file, `UPDATE ing_campaign SET expr_proto_hash = '`+strings.Repeat("0", 64)+`' WHERE name = 'stranded'`); err != nil {
		t.Fatal(err)
	}
	p.served(app)
	if c, _, err := app.store.Campaign(t.Context(), "stranded"); err != nil || c.State != ingest.CampaignActive || !strings.Contains(c.Note, "asks for something else") {
		t.Errorf("%+v, %v", c, err)
	}
	if c, _, err := app.store.Campaign(t.Context(), "other"); err != nil || c.State != ingest.CampaignCompleted || c.Note != "" {
		t.Errorf("%+v, %v", c, err)
	}
}

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/upsim"
)

// The years a campaign fills here. Harvests have what follows.
var (
	pastFrom = time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)
	pastTo   = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	pastNow  = time.Date(2025, 1, 21, 0, 0, 0, 0, time.UTC)
)

// newPast is a world of ten years and twenty days. Pages can be replayed.
func newPast(t *testing.T, database string, came *arrivals) *world {
	t.Helper()
	data := upsim.NewDataset(upsim.Config{Seed: 15, From: pastFrom, To: pastNow.Add(-time.Hour), PerDay: 2, Flat: true, BadIDEvery: 997})
	server, err := upsim.NewServer(data, upsim.Options{OnEntry: came.entry, LogLimit: 100_000, Cursor: upsim.ReplayableCursor})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	w := &world{t: t, data: data, server: server, database: database, now: pastNow}
	w.settings = []string{
		"http.baseUrl=" + server.URL(), "http.allowPrivate=true", "rate.perSecond=5000", "rate.burst=50", "rate.concurrency=8", "rate.obeyHeaders=false",
		"retry.initialDelay=PT0.001S", "retry.maxDelay=PT0.02S", "paging.size=20", "paging.replayable=true", "slicing.step=P30D", "slicing.maxPages=0", // no counts among the requests
	}
	w.must("db", "migrate")
	return w
}

func (w *world) pastArgs(command string, more ...string) []string {
	args := append([]string{command, "crossref", "--now", pastNow.Format(time.RFC3339), "-q", "-o", "json", "--workers", "2", "--lease", "2s", "--no-raw", "--relaxed"}, more...)
	for _, s := range w.settings {
		args = append(args, "--set", s)
	}
	return args
}

func (w *world) cursorsOf(op ingest.Operation) (out []view.Cursor) {
	w.t.Helper()
	app := w.open()
	defer app.Close()
	all, err := app.Cursors.List(w.t.Context(), "crossref")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range all {
		if c.Operation == string(op) {
			out = append(out, c)
		}
	}
	return out
}

// killedCampaign fills ten years while its process is killed again and again: all
// of it is stored or in quarantine, what was read is not read again apart from
// pages under way, and the harvest's cursor is as before (I2, I5, I6).
func killedCampaign(t *testing.T, database string, kills int, random *rand.Rand) {
	came := newArrivals()
	w := newPast(t, database, came)
	if code, out, text := w.patra(w.pastArgs("harvest", "--from", pastTo.Format(time.DateOnly))...); code != 0 && code != 3 {
		t.Fatalf("exit %d: %s%s", code, out, text)
	}
	before := w.cursorsOf(ingest.Harvest)
	asked := w.server.Requests()
	args := w.pastArgs("backfill", "--from", pastFrom.Format(time.DateOnly), "--to", pastTo.Format(time.DateOnly), "--name", "decade", "--chunk", "365d")
	done := 0
	for range kills {
		cmd, output := w.child(args...)
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		if !came.wait(1+random.IntN(600/kills), ended) {
			t.Logf("the campaign ended after %d kills: %s", done, output)
			break
		}
		_ = cmd.Process.Kill()
		<-ended
		done++
		w.must("cursor", "verify")
	}
	if done < kills/2 {
		t.Fatalf("only %d kills hit a running campaign", done)
	}
	if code, out, text := w.patra(args...); code != 0 && code != 3 { // 3: the rejects
		t.Fatalf("exit %d: %s%s", code, out, text)
	}
	w.verify()
	if after := w.cursorsOf(ingest.Harvest); !reflect.DeepEqual(after, before) {
		t.Errorf("the harvest's cursor was %+v and is %+v", before, after)
	}
	if own := w.cursorsOf(ingest.Backfill); len(own) != 1 || !own[0].Instant.Equal(pastTo) {
		t.Errorf("%+v", own)
	}
	undisturbed := w.pagesOf(ingest.Backfill)
	if again := w.server.Requests() - asked - undisturbed; again < 0 || again > 2*done {
		t.Errorf("%d pages, %d fetched again after %d kills of two workers", undisturbed, again, done)
	}
	t.Logf("%d kills, %d pages, %s", done, undisturbed, w)
}

// pagesOf is how many pages are stored, each once.
func (w *world) pagesOf(op ingest.Operation) (n int) {
	w.t.Helper()
	app := w.open()
	defer app.Close()
	batches, err := app.Tasks.ListBatches(w.t.Context(), view.Filter{Limit: 100_000})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, b := range batches {
		if b.Operation == string(op) && b.Status == "SUCCEEDED" {
			n++
		}
	}
	return n
}

func TestKilledCampaignLosesNothing(t *testing.T) {
	killedCampaign(t, "sqlite:"+filepath.Join(t.TempDir(), "patra.db"), 8, rand.New(rand.NewPCG(1, 7)))
}

// Fifty kills on every database, and a second campaign and a harvest beside it.
func TestProofFiftyKillsOfACampaign(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	onEveryDatabase(t, func(t *testing.T, database string) {
		for round := range uint64(3) {
			t.Run(fmt.Sprint(round), func(t *testing.T) {
				if round > 0 && database[:6] != "sqlite" {
					database = mariadb.DSN(t)
				} else if round > 0 {
					database = "sqlite:" + filepath.Join(t.TempDir(), "patra.db")
				}
				killedCampaign(t, database, 50, rand.New(rand.NewPCG(round, 50)))
			})
		}
	})
}

// Two campaigns and a harvest, each a process of its own, on one database.
func TestCampaignsBesideAHarvest(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newPast(t, database, newArrivals())
		var all sync.WaitGroup
		for _, args := range [][]string{
			w.pastArgs("backfill", "--from", "2015-01-01", "--to", "2020-01-01", "--name", "early", "--order", "oldest", "--chunk", "300d"),
			w.pastArgs("backfill", "--from", "2020-01-01", "--to", "2025-01-01", "--name", "late"),
			w.pastArgs("harvest", "--from", "2025-01-01"),
		} {
			cmd, output := w.child(args...)
			all.Go(func() {
				_ = cmd.Wait()
				if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 {
					t.Errorf("%v: exit %d: %s", args[:2], code, output)
				}
			})
		}
		all.Wait()
		w.verify()
		if harvest, past := w.cursorsOf(ingest.Harvest), w.cursorsOf(ingest.Backfill); len(harvest) != 1 || len(past) != 2 || harvest[0].Origin.Before(pastTo) {
			t.Errorf("%+v, %+v", harvest, past)
		}
	})
}

package sim

import (
	"os"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/operate"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// fleet is a source that four processes read at five requests a second.
func fleet(name string, works int, trouble func(*stage)) scenario {
	return scenario{
		name: name, form: "token", works: works, perSecond: 5, takes: 200 * time.Millisecond, processes: 4,
		settings: []string{"paging.size=5"}, trouble: trouble,
	}
}

// F28: every answer of ten minutes says that we are too fast, some of them for how
// long to wait.
func TestScenarioStormOf429(t *testing.T) {
	s := perform(t, fleet("429 storm", 14_000, func(s *stage) {
		pass(s.ctx, time.Minute)
		s.weather("429@p:0.3:retry-after=5;429@p:0.3:retry-after=date+20s;429@*")
		pass(s.ctx, 10*time.Minute)
		s.weather("")
	}))
	s.recoversAll()
	s.fastWithin(3 * time.Minute) // a tenth of the rate comes back every ten seconds
}

// The upstream takes half of what is declared, for ten minutes, and does not say so.
func TestScenarioHalvedRate(t *testing.T) {
	s := perform(t, fleet("rate halved", 18_000, func(s *stage) {
		pass(s.ctx, time.Minute)
		s.enforces(float64(s.perSecond) / 2)
		pass(s.ctx, 10*time.Minute)
		s.weather("")
	}))
	s.recoversAll()
	s.fastWithin(3 * time.Minute)
}

// F29: half an hour of nothing but errors.
func TestScenarioHalfAnHourOf5xx(t *testing.T) {
	s := perform(t, fleet("30 minutes of 5xx", 14_000, func(s *stage) {
		pass(s.ctx, time.Minute)
		s.weather("500@p:0.3;502@p:0.3;504@p:0.5;503@*")
		pass(s.ctx, 30*time.Minute)
		s.weather("")
	}))
	s.recoversAll()
	s.fastWithin(8 * time.Minute) // the breaker may have opened just before, for four
}

// F29: up and down, first faster than anybody can find out, then slower.
func flapping(name string) scenario {
	return fleet(name, 22_000, func(s *stage) {
		pass(s.ctx, time.Minute)
		for _, phase := range []struct {
			span  time.Duration
			times int
		}{{5 * time.Second, 30}, {20 * time.Second, 8}, {time.Minute, 3}} {
			for range phase.times {
				s.weather("503@p:0.5;500@*")
				pass(s.ctx, phase.span)
				s.weather("")
				pass(s.ctx, phase.span)
			}
		}
	})
}

func TestScenarioFlapping(t *testing.T) {
	s := perform(t, flapping("flapping"))
	s.recoversAll()
	s.fastWithin(8 * time.Minute)
}

// Each slice is longer than the upstream ever stays up: what its runs read one
// after the other must count.
func TestProofScenarioFlappingLongSlices(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	sc := flapping("flapping, slices of a day")
	sc.settings = append(sc.settings, "slicing.step=P1D", "window.ordered=true")
	perform(t, sc).recoversAll()
}

// F30: the key is revoked after 50 pages. The source stops with one alarm, nobody
// asks any more, and with a good key everything is read.
func TestScenarioRevokedKey(t *testing.T) {
	const renewed = "form-s3cret-2"
	sc := fleet("key revoked after 50 pages", 2_000, func(s *stage) {
		for s.alarms.count() == 0 {
			pass(s.ctx, time.Second)
		}
		pass(s.ctx, time.Minute) // who was under way hears of it too
		asked := s.journal.len()
		pass(s.ctx, 10*time.Minute)
		if more := s.journal.len() - asked; more != 0 {
			s.Errorf("%d requests of a source that is stopped", more)
		}
		s.renew(renewed)
		_, err := operate.New(s.store).Resume(s.ctx, ingest.Scope{Source: s.up.code}, ingest.Act{Actor: "sim", Reason: "there is a new key"})
		s.must(err)
	})
	sc.form = "key-header"
	sc.options.Forms.Auth = upsim.Auth{Kind: upsim.AuthKeyHeader, Secret: simulated.Secret, RevokeAfter: 50}
	s := perform(t, sc)
	if n := s.alarms.count(); n != 1 {
		t.Errorf("%d alarms, want one", n)
	}
	refused := 0
	for _, e := range s.journal.all() {
		if e.Status == 401 {
			refused++
		}
	}
	if refused > s.processes {
		t.Errorf("%d requests with a key that is not good, of %d processes", refused, s.processes)
	}
}

// renew is an upstream that takes another key, and a person who knows it.
func (s *stage) renew(key string) {
	o := s.options
	o.LogLimit, o.OnEntry = -1, s.journal.note
	o.Forms.Auth.Secret, o.Forms.Auth.RevokeAfter = key, 0
	server, err := upsim.NewServer(s.up.data, o)
	s.must(err)
	s.up.mu.Lock()
	s.up.server = server
	s.up.mu.Unlock()
	s.weather("")
	s.must(os.Setenv("FORM_SECRET", key)) // put back by perform
}

// deep is one slice of many pages, with some answers that fail.
func deep(name string, pages int, settings ...string) scenario {
	return scenario{
		name: name, form: "token", works: 2 * pages, perSecond: 20, takes: 50 * time.Millisecond, processes: 2,
		settings: append([]string{
			"paging.size=2", "paging.maxPages=20000", "slicing.step=P2D", "slicing.maxRequests=50000", "slicing.maxDurationSec=86400",
		}, settings...),
		trouble: func(s *stage) { s.weather("500@every:997;429@every:1999:retry-after=2;reset@every:1503") },
	}
}

// A slice that turns out to be thousands of pages long is cut where it is read to.
func TestScenarioDeepSlice(t *testing.T) {
	s := perform(t, deep("4,500 pages, cut, ordered", 4_500, "window.ordered=true"))
	s.recoversAll()
	if s.tally["re-cut slices"] == 0 {
		t.Error("it was not cut again")
	}
}

// One of ten thousand pages is read in one piece where it cannot be cut.
func TestProofScenarioTenThousandPages(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	for name, settings := range map[string][]string{
		"in one piece": {"slicing.minStep=P2D"},
		"cut, ordered": {"window.ordered=true"},
		"cut":          nil,
	} {
		t.Run(name, func(t *testing.T) {
			s := perform(t, deep("10,000 pages, "+name, 10_000, settings...))
			s.recoversAll()
			if cut := s.tally["re-cut slices"]; (cut > 0) != (name != "in one piece") {
				t.Errorf("%d slices were cut again", cut)
			}
			if asked := s.journal.len(); asked < 10_000 {
				t.Errorf("%d requests for ten thousand pages", asked)
			}
		})
	}
}

// Pages of five megabytes, some of which break off.
func TestScenarioLargePages(t *testing.T) {
	sc := scenario{
		name: "5 MB pages", form: crossref, works: 2_000, config: upsim.Config{PayloadBytes: 50_000},
		options:   upsim.Options{DisableGzip: true, Cursor: upsim.ReplayableCursor},
		perSecond: 2, takes: 3 * time.Second, processes: 4,
		settings: []string{"http.baseUrl=http://crossref.sim", "http.allowPrivate=true", "rate.obeyHeaders=false", "paging.size=100", "paging.replayable=true", "slicing.step=P1D"},
		trouble:  func(s *stage) { s.weather("truncate-json@every:7;reset@every:11;503@every:13") },
	}
	s := perform(t, sc)
	s.recoversAll()
}

// recoversAll expects that no answer that failed cost its task: all of this ended
// within what a task may try.
func (s *stage) recoversAll() {
	s.Helper()
	db, err := check.Open(s.kept.database)
	s.must(err)
	defer db.Close()
	failed, mended := s.recovered(db, s.journal.all())
	if mended < failed || failed == 0 {
		s.Errorf("%d of %d failed answers were made good", mended, failed)
	}
}

// fastWithin expects full speed so soon after the trouble, by the virtual clock.
func (s *stage) fastWithin(most time.Duration) {
	s.Helper()
	if took, reached := fullSpeed(s.journal.all(), s.over, float64(s.perSecond)); !reached || took > most {
		s.Errorf("full speed after %s (%t), want %s at most", took, reached, most)
	}
}

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/gatetest"
	"github.com/patra-ingest/patra/internal/upsim"
)

// trouble is what an upstream does to four real processes that share its rate
// through Redis, at the scale of seconds. At full length, in virtual time, the
// same is played by the simulation.
type trouble struct {
	name     string
	perDay   int
	rate     int // 50 unless it is said
	config   upsim.Config
	settings []string
	play     func(f *fleet) // returns when it is over
	clean    bool           // no stretch of full speed is expected after it
}

// lasts waits, or until the harvest ends.
func (f *fleet) lasts(d time.Duration) {
	select {
	case <-time.After(d):
	case <-f.ended:
	}
}

// during sets faults for a while, after the harvest is well under way.
func during(d time.Duration, script string) func(*fleet) {
	return func(f *fleet) {
		f.begun()
		f.faults(script)
		f.lasts(d)
		f.faultsOff()
	}
}

func (f *fleet) begun() {
	f.t.Helper()
	if !f.came.wait(3*f.perSecond, f.ended) {
		f.t.Fatalf("the harvest ended too early: %s", f.output)
	}
}

func storm(d time.Duration) func(*fleet) {
	return during(d, "429@p:0.3:retry-after=1;429@p:0.3:retry-after=date+2s;429@*")
}

func troubles() []trouble {
	return []trouble{
		{name: "429 storm", perDay: 6000, play: storm(10 * time.Second)},
		{name: "rate halved", perDay: 6000, play: func(f *fleet) {
			f.begun()
			f.enforce(float64(f.perSecond) / 2)
			f.lasts(15 * time.Second)
			f.faultsOff()
		}},
		{name: "5xx", perDay: 6000, play: during(20*time.Second, "500@p:0.3;502@p:0.3;503@*")},
		{name: "flapping", perDay: 8000, play: func(f *fleet) {
			f.begun()
			for range 6 {
				f.faults("503@p:0.5;500@*")
				f.lasts(2 * time.Second)
				f.faultsOff()
				f.lasts(3 * time.Second)
			}
		}},
		{name: "10,000 pages in one slice", perDay: 3710, rate: 1000, settings: []string{"paging.size=2", "paging.maxPages=20000", "slicing.maxRequests=50000", "slicing.step=P10D", "slicing.minStep=P10D"}, clean: true,
			play: func(f *fleet) { f.faults("500@every:997;429@every:1999:retry-after=1;reset@every:2503") }},
		{name: "5 MB pages", perDay: 400, rate: 10, config: upsim.Config{PayloadBytes: 50_000}, settings: []string{"paging.size=100"}, clean: true,
			play: func(f *fleet) { f.faults("truncate-gzip@every:7;reset@every:11;503@every:13") }},
	}
}

// enforce refuses what is above a rate that nobody was told of.
func (f *fleet) enforce(perSecond float64) {
	f.t.Helper()
	tokens, at := 1.0, time.Now()
	tooMany := func(upsim.Hit) bool { // one at a time: the simulator holds its script
		tokens = min(tokens+perSecond*time.Since(at).Seconds(), fleetBurst)
		at = time.Now()
		if tokens < 1 {
			return true
		}
		tokens--
		return false
	}
	if err := f.server.SetFaults([]upsim.Fault{{Kind: upsim.Fault429, When: tooMany}}); err != nil {
		f.t.Fatal(err)
	}
}

// The shortest of them, for every day.
func TestFourProcessesInA429Storm(t *testing.T) {
	endure(t, trouble{name: "429 storm", perDay: 3000, play: storm(3 * time.Second)})
}

func TestProofTroublesOfAnUpstream(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("a proof: set PATRA_PROOF=1")
	}
	for _, tr := range troubles() {
		t.Run(tr.name, func(t *testing.T) { endure(t, tr) })
	}
}

// endure plays a trouble: nothing lost, never above the rate, every answer that
// failed made good.
func endure(t *testing.T, tr trouble) {
	f := &fleet{perSecond: 50, perDay: tr.perDay, config: tr.config}
	if tr.rate > 0 {
		f.perSecond = tr.rate
	}
	f.assemble(t, upsim.Options{Cursor: upsim.ReplayableCursor}, append([]string{
		"rate.concurrency=16", "rate.recoverEvery=PT1S", "paging.size=20", "paging.replayable=true", "retry.initialDelay=PT0.1S", "retry.maxDelay=PT30S",
	}, tr.settings...)...)
	tr.play(f)
	over := time.Now()
	f.finish()
	f.within()
	failed, mended := f.recovered()
	t.Logf("%s: %d works; %d of %d failed answers made good; %s", tr.name, f.data.Len(), mended, failed, f.speedAfter(over, tr.clean))
	if mended < failed || failed == 0 {
		t.Errorf("%d of %d failed answers were made good", mended, failed)
	}
}

func answered(e upsim.Entry) bool { return e.Status == 200 && e.Fault == "" }

// speedAfter is when good answers first came at nineteen twentieths of the rate
// for three seconds.
func (f *fleet) speedAfter(over time.Time, optional bool) string {
	f.t.Helper()
	const span = 3 * time.Second
	want := int(0.95 * float64(f.perSecond) * span.Seconds())
	f.mu.Lock()
	defer f.mu.Unlock()
	var came []time.Time
	for _, e := range f.log {
		if answered(e) && !e.At.Before(over) {
			came = append(came, e.At)
		}
	}
	if len(came) == 0 {
		return "no request after it"
	}
	first := came[0].Sub(over).Round(10 * time.Millisecond)
	for i := 0; i+want-1 < len(came); i++ {
		if came[i+want-1].Sub(came[i]) <= span {
			return fmt.Sprintf("first good answer after %s, full speed after %s", first, came[i].Sub(over).Round(10*time.Millisecond))
		}
	}
	if !optional && gatetest.Proves() { // how soon depends on the machine
		f.t.Error("no full speed after the trouble")
	}
	return fmt.Sprintf("first good answer after %s", first)
}

// recovered counts the answers that failed, and those of them whose task did not.
func (f *fleet) recovered() (failed, mended int) {
	f.t.Helper()
	db, err := check.Open(f.database)
	if err != nil {
		f.t.Fatal(err)
	}
	defer db.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.log {
		var run, batch int64
		if answered(e) {
			continue
		}
		if _, err := fmt.Sscanf(e.Header.Get("X-Ingest-Correlation-Id"), "ing-%d-%d", &run, &batch); err != nil {
			continue // of the planner, which counts
		}
		var status string
		if err := db.QueryRowContext(f.t.Context(), "SELECT t.status_code FROM ing_task t JOIN ing_task_run r ON r.task_id = t.id WHERE r.id = ?", run).Scan(&status); err != nil {
			f.t.Fatal(err)
		}
		failed++
		if strings.Contains("SUCCEEDED PARTIAL", status) {
			mended++
		}
	}
	return failed, mended
}

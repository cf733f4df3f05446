package sim

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/operate"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/upsim"
)

// lie is one way to answer well and wrongly, and the smallest harvest that is
// harmed by it where it is believed.
type lie struct {
	name     string
	form     string
	works    int // in two days; 200 where it is not said
	lasts    upsim.Lies
	settings []string
	trouble  func(*stage)
	expect   func(*stage, *sql.DB) // besides that everything is stored and the harvest came to rest
}

// forAWhile tells lies when the harvest begins, and the truth some minutes later.
func forAWhile(l upsim.Lies) func(*stage) {
	return func(s *stage) {
		s.up.server.SetLies(l)
		pass(s.ctx, 5*time.Minute)
		s.up.server.SetLies(upsim.Lies{})
		s.resumeAll(operate.New(s.store)) // answers that nobody can read stop the source, and a person ends that
	}
}

func faultsForAWhile(script string) func(*stage) {
	return func(s *stage) {
		s.weather(script)
		pass(s.ctx, 5*time.Minute)
		s.weather("")
	}
}

func lies() []lie {
	return []lie{
		{name: "filter ahead of the stamps", form: "token", lasts: upsim.Lies{FilterOff: 20 * time.Minute}, settings: []string{"slicing.step=PT1H"}},
		{name: "filter behind the stamps", form: "offset", lasts: upsim.Lies{FilterOff: -20 * time.Minute}, settings: []string{"slicing.step=PT1H", "window.size=P3D"}},
		{name: "stamps rounded up", form: "token", works: 600, lasts: upsim.Lies{RoundUp: time.Minute}, settings: []string{"slicing.step=PT15M"}},
		{name: "items renamed for a while", form: "search-xml", settings: []string{"paging.expectTotal=false", "paging.stable=true"}, trouble: func(s *stage) {
			s.weather("total-missing@*") // as OAI-PMH, where it is optional
			forAWhile(upsim.Lies{Renamed: true})(s)
		}},
		{name: "an error in the place of rows", form: "csv", trouble: forAWhile(upsim.Lies{Down: true})},
		{name: "byte order mark", form: "token", lasts: upsim.Lies{Mark: true}},
		{name: "pinned item", form: "offset-blind", settings: []string{"slicing.step=P1D", "paging.stable=true"}, trouble: faultsForAWhile("pinned-item@*")},
		{name: "foreign items", form: "offset", settings: []string{"slicing.step=P1D", "paging.stable=true"}, trouble: faultsForAWhile("foreign-item@p:0.5:times=10")},
		{name: "walks that end early", form: "token", settings: []string{"slicing.step=P1D"}, trouble: faultsForAWhile("lost-next@p:0.3")},
		{name: "one day per request", form: "daily", settings: []string{"slicing.step=P1D", "window.minWindow=P1D"}},
		{name: "a feed in no order", form: "feed", lasts: upsim.Lies{Feed: upsim.ByID}, trouble: newWorks},
		{name: "a feed to its last item", form: "feed", settings: []string{"paging.size=1", "window.lookback=PT0S"}, trouble: newWorks},
		{name: "a list that is short for a while", form: "whole", trouble: shortForAWhile, expect: onlyWholeListsCount},
		{name: "shelf by shelf", form: "shelves"},
		{name: "shelves that fail for a while", form: "shelves", settings: []string{"retry.maxAttempts=1", "retry.taskAttempts=1"}, trouble: faultsForAWhile("500@p:0.3")},
		{name: "shelves that are taken for each other", form: "shelves", settings: []string{"retry.maxAttempts=1", "retry.taskAttempts=1"}, trouble: shelvesMistaken},
		{name: "shelves that are not told apart", form: "shelves", settings: []string{"retry.maxAttempts=1", "retry.taskAttempts=1"}, trouble: forAWhile(upsim.Lies{AllShelves: true}), expect: strayWorksAreRefused},
		{name: "racks that are taken for each other", form: "racks", trouble: racksMistaken},
		{name: "racks that come and go", form: "racks", trouble: racksComeAndGo},
		{name: "racks that say when they change", form: "racks-changed", trouble: fewRacksChange, expect: quietRacksAreLeftAlone},
		{name: "racks that are refused for a while", form: "racks", trouble: racksRefused, expect: refusedRacksAreLeftAlone},
		{name: "files cut at the end of a line", form: "files-gzip", trouble: forAWhile(upsim.Lies{CutFiles: true}), expect: someFileFailed},
		{name: "a file that the listing forgets", form: "files", trouble: forgottenAfterItFailed, expect: someFileFailed},
		{name: "a file that changes while it is read", form: "files", trouble: mixedWhileItIsRead},
		{name: "a gap in the records", form: "search", settings: []string{"details.missing=GONE"}, trouble: gapWhileReadAgain, expect: nobodyIsGone},
		{name: "records of others for a while", form: "search", settings: []string{"details.missing=GONE"}, trouble: forAWhile(upsim.Lies{OtherRecords: true}), expect: nobodyIsGone},
		{name: "a list that shrinks", form: crossref, works: 1_200, settings: []string{"slicing.step=P1D", "paging.size=20"},
			trouble: func(s *stage) {
				s.up.server.SetShrinking(upsim.Shrinking{Every: 12, Now: true})
				pass(s.ctx, 5*time.Minute)
				s.up.server.SetShrinking(upsim.Shrinking{})
			}, expect: nothingStartsOver},
	}
}

// Each lie alone, in a short harvest: everything is stored, and the harvest comes
// to rest. TestProofLiesAreFoundWithoutTheirMend shows that this would fail.
func TestScenarioLies(t *testing.T) {
	for _, l := range lies() {
		t.Run(l.name, func(t *testing.T) { l.tell(t, inFile(t)) })
	}
}

// ofTables are lies that what is stored in tables makes up for: they are told on a server too.
func ofTables() []string {
	return []string{
		"a list that is short for a while", "shelves that fail for a while", "a file that the listing forgets", "a gap in the records",
		"racks that come and go", "racks that are refused for a while", "shelves that are taken for each other",
	}
}

// Those that the tables decide, on a server.
func TestScenarioLiesOnServer(t *testing.T) {
	for _, l := range lies() {
		if slices.Contains(ofTables(), l.name) {
			t.Run(l.name, func(t *testing.T) { l.tell(t, onServer(t)) })
		}
	}
}

// All others, on a server.
func TestProofScenarioLiesOnServer(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	for _, l := range lies() {
		if !slices.Contains(ofTables(), l.name) {
			t.Run(l.name, func(t *testing.T) { l.tell(t, onServer(t)) })
		}
	}
}

// tell plays the harvest of one lie.
func (l lie) tell(t *testing.T, at storage) {
	t.Helper()
	sc := scenario{
		name: l.name, form: l.form, works: max(l.works, 200), perSecond: 20, takes: 20 * time.Millisecond, processes: 2,
		settings: append([]string{"slicing.step=PT6H"}, l.settings...), trouble: l.trouble,
	}
	if sc.options.Forms.Lies = l.lasts; sc.trouble == nil {
		sc.trouble = func(*stage) {}
	}
	if l.form == crossref {
		sc.settings = append(sc.settings, "http.baseUrl=http://crossref.sim", "http.allowPrivate=true", "rate.obeyHeaders=false")
	}
	s := performOn(t, at, sc)
	if l.expect == nil {
		return
	}
	db, err := check.Open(s.kept.database)
	s.must(err)
	defer db.Close()
	l.expect(s, db)
}

// shelvesMistaken answers the first plan with one shelf, whichever is asked for. Its windows are long enough that something of that
// shelf is in each: an answer without any item cannot be told from one about an empty shelf.
func shelvesMistaken(s *stage) {
	s.up.server.SetLies(upsim.Lies{OnlyShelf: "a"})
	pass(s.ctx, 50*time.Second)
	s.up.server.SetLies(upsim.Lies{})
	s.resumeAll(operate.New(s.store))
}

// strayWorksAreRefused: runs failed because an answer had works of another shelf.
func strayWorksAreRefused(s *stage, db *sql.DB) {
	s.Helper()
	var refused int
	s.must(db.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM ing_task_run WHERE status_code = 'FAILED' AND error LIKE '%partitions.shelf.inItem%'").Scan(&refused))
	if refused == 0 {
		s.Error("no run failed for works of another shelf")
	}
}

// newWorks lets a work appear every three seconds: the harvest of each minute has a score
// of them to read, and would miss one if it ended an item too early.
func newWorks(s *stage) {
	for n := range 60 {
		id := fmt.Sprintf("10.5555/new-%d", n)
		_, err := s.up.data.Add(id, time.Now().Truncate(time.Second))
		s.must(err)
		s.up.learn(id)
		pass(s.ctx, 3*time.Second)
	}
}

// shortForAWhile is a list without dates of which two thirds are missing for some minutes,
// its total included, as from an index that is built anew.
func shortForAWhile(s *stage) {
	pass(s.ctx, 3*time.Minute)
	var ids []string
	for work := range s.up.data.Heads() {
		ids = append(ids, work.DOI)
	}
	ids = ids[:2*len(ids)/3]
	for _, id := range ids {
		s.must(s.up.data.Remove(id))
	}
	pass(s.ctx, 5*time.Minute)
	for _, id := range ids {
		_, err := s.up.data.Add(id, time.Now().Truncate(time.Second))
		s.must(err)
	}
}

// onlyWholeListsCount: a reading that counts as complete had the whole list, short ones came
// and did not count, and nothing that is in the list is gone.
func onlyWholeListsCount(s *stage, db *sql.DB) {
	s.Helper()
	var complete, accepted, shrunk, gone int
	s.must(db.QueryRowContext(s.Context(), "SELECT COALESCE(SUM(state_code = 'COMPLETE'), 0), COALESCE(SUM(state_code = 'COMPLETE' AND items < ?), 0), COALESCE(SUM(state_code = 'SHRUNK'), 0) FROM ing_generation", s.up.data.Len()).Scan(&complete, &accepted, &shrunk))
	s.must(db.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM ing_record WHERE state_code = 'GONE'").Scan(&gone))
	if complete < 2 || accepted > 0 || shrunk == 0 || gone > 0 {
		s.Errorf("%d complete readings, %d of them accepted short, %d shrunk, %d records gone", complete, accepted, shrunk, gone)
	}
}

// gapWhileReadAgain lets everything be read twice. The second time some records are
// named by the search and lack their details.
func gapWhileReadAgain(s *stage) {
	pass(s.ctx, 5*time.Minute)
	s.up.server.SetGap(inGap)
	s.readAgain()
	s.up.server.SetGap(nil)
}

// readAgain takes five minutes.
func (s *stage) readAgain() {
	from := s.world.began.AddDate(0, 0, -harvests)
	again := errand{s.up, s.up.compile(s.T, ingest.Backfill), planner.Request{
		Scheduler: "SIM", Type: ingest.TriggerManual, From: &from, To: &s.world.began, Campaign: "again",
	}}
	s.plan(planner.New(s.store), again, "again", s.random("again"))
	pass(s.ctx, 5*time.Minute)
}

// nobodyIsGone: what the upstream has is no tombstone, and was none.
func nobodyIsGone(s *stage, db *sql.DB) {
	s.Helper()
	var records, bodies, rejects int
	s.must(db.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM ing_record WHERE state_code = 'ACTIVE'").Scan(&records))
	s.must(db.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM ing_record_body").Scan(&bodies))
	s.must(db.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM ing_quarantine").Scan(&rejects))
	if n := s.up.data.Len(); records != n || bodies != n || rejects != 0 {
		s.Errorf("%d records, %d versions and %d rejects of %d works that never changed", records, bodies, rejects, n)
	}
}

// nothingStartsOver: a list that loses a few works is read in one pass.
func nothingStartsOver(s *stage, db *sql.DB) {
	s.Helper()
	var passes, changed int
	s.must(db.QueryRowContext(s.Context(), "SELECT COALESCE(SUM(json_extract(stats, '$.restarts')), 0) FROM ing_task_run").Scan(&passes))
	s.must(db.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM ing_record WHERE version > 1").Scan(&changed))
	if passes > 0 || changed < 4 {
		s.Errorf("%d times started over, %d works left the list and were read again", passes, changed)
	}
}

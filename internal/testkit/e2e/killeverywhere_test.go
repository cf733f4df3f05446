package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/upsim"
)

// Kills over everything that writes versions: the migration of an older database, first
// harvests, harvests of changes, folding, pruning and repacking. The database is checked
// after each.
func TestKilledAnywhereTheDatabaseIsClean(t *testing.T) {
	want := oldVersions(t)
	onEveryDatabase(t, func(t *testing.T, database string) { killAnywhere(t, database, want, 10, 1) })
}

// The same with 200 kills on each database.
func TestProofKilledAnywhereTheDatabaseIsClean(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	want := oldVersions(t)
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			onEveryDatabase(t, func(t *testing.T, database string) { killAnywhere(t, database, want, 20, 100+seed) })
		})
	}
}

// killedWork is a command that may be killed at some points.
type killedWork struct {
	name   string
	points []crash.Point
	args   func(s *subject) []string
}

func killedWorks() []killedWork {
	commit := []crash.Point{crash.Claimed, crash.Sent, crash.BodyKept, crash.Records, crash.Outbox, crash.BatchRow, crash.Event, crash.Cursor, crash.Committed, crash.Finishing}
	plain := func(args ...string) func(*subject) []string { return func(*subject) []string { return args } }
	return []killedWork{
		{"harvest", commit, func(s *subject) []string { return s.args() }},
		{"change", commit, func(s *subject) []string {
			s.change()
			return s.args()
		}},
		{"fold", []crash.Point{crash.Folding}, plain("db", "compact")},
		{"prune", []crash.Point{crash.Pruning}, plain("db", "prune", "--versions-keep", "30d", "--outbox-keep", "7d")},
		{"repack", []crash.Point{crash.Repacking}, plain("db", "compact")},
	}
}

// change changes every third work upstream, so that each gets another version.
func (s *subject) change() {
	s.t.Helper()
	s.now = s.now.Add(time.Hour)
	n := 0
	var dois []string
	for truth := range s.data.Heads() {
		if n++; n%3 == 0 {
			dois = append(dois, truth.DOI)
		}
	}
	for _, doi := range dois {
		if err := s.data.Touch(doi, s.now.Add(-s.lag-time.Minute), true); err != nil {
			s.t.Fatal(err)
		}
	}
}

func killAnywhere(t *testing.T, database string, old map[string]string, kills int, seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 20))
	t.Logf("seed %d", seed)
	loadOld(t, database)
	w := &world{t: t, database: database}
	done := map[string]int{}
	total := 0
	for passage := 1; passage < 4 && w.killed(crash.Migrating, passage, "db", "migrate"); passage++ {
		done["migration"]++
		total++
	}
	w.must("db", "migrate") // now it comes to its end
	s := ofKind(t, "token").start(t, database, upsim.Options{})
	works := killedWorks()
	for step := 0; total < kills; step++ {
		work := works[step%len(works)]
		point, passage := work.points[dice.IntN(len(work.points))], 1+dice.IntN(2)
		if s.killed(point, passage, work.args(s)...) {
			done[work.name]++
			total++
		}
		s.forgetLease()
		if code, out, text := s.patra("db", "check"); code != 0 {
			t.Fatalf("after %s was killed at passage %d of %s: exit %d\n%s%s", work.name, passage, point, code, out, text)
		}
		if dice.IntN(3) == 0 {
			s.must(work.args(s)...) // it comes to its end now and then
		}
		if step > 20*kills {
			t.Fatalf("only %v were killed", done)
		}
	}
	s.finish()
	for range 2 {
		s.must("db", "compact")
		s.must("db", "prune", "--versions-keep", "30d", "--outbox-keep", "7d")
	}
	s.must("db", "check")
	s.must("cursor", "verify")
	t.Logf("killed: %v", done)
	s.holdsAll(old)
}

// holdsAll expects every work as it is upstream, and of the older program's records what
// retention leaves, as it was.
func (s *subject) holdsAll(old map[string]string) {
	s.t.Helper()
	records, err := localstore.Beside(s.t, s.database).Records(s.t.Context(), s.source, "works", nil, 100_000)
	if err != nil {
		s.t.Fatal(err)
	}
	stored := map[string]view.Record{}
	for _, r := range records {
		stored[strings.ToLower(r.ID)] = r
	}
	for truth := range s.data.Heads() {
		if got, ok := stored[strings.ToLower(truth.DOI)]; !ok || !got.UpdatedAt.Equal(truth.Indexed) {
			s.t.Errorf("lost or altered: %s of %v, stored of %v", truth.DOI, truth.Indexed, got.UpdatedAt)
		}
	}
	left := versions(s.t, s.database)
	if len(left) == 0 || len(left) >= len(old) {
		s.t.Errorf("%d versions of the older program are left of %d", len(left), len(old))
	}
	for key, text := range left {
		if old[key] != text {
			s.t.Errorf("%s is %.100s, was %.100s", key, text, old[key])
		}
	}
}

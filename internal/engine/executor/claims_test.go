package executor

import (
	"fmt"
	"os"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/mysql"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
)

// place is where a world keeps its database.
type place func(w *formWorld)

// inFile leaves it in the file that every world begins with.
func inFile(*formWorld) {}

// onServer keeps it on a MariaDB server instead. Nothing is stored yet.
func onServer(w *formWorld) {
	w.Helper()
	s, err := mysql.Open(w.Context(), mariadb.DSN(w), store.Options{Clock: w.clock.read, AfterCommit: w.wire.deliver})
	w.must(err)
	w.Cleanup(func() { s.Close() })
	_, err = s.Migrate(w.Context())
	w.must(err)
	w.store = s
}

// claims are the properties of what counts as read, each with all its forms.
func claims(t *testing.T) map[string]func(t *testing.T, seed uint64, at place) {
	out := map[string]func(t *testing.T, seed uint64, at place){}
	for _, f := range simulated.Feeds() {
		out["feed/"+f.Name] = func(t *testing.T, seed uint64, at place) { feedClaimsWhatWasRead(t, f, seed, at) }
	}
	for _, f := range sinceForms(t) {
		out["since/"+f.Name] = func(t *testing.T, seed uint64, at place) { sinceClaimsWhatWasRead(t, f, seed, at) }
	}
	for _, form := range []string{"token", "offset"} {
		out["whole/"+form] = func(t *testing.T, seed uint64, at place) { wholeClaimsWhatWasRead(t, form, seed, at) }
	}
	for name, reading := range axisReadings() {
		out["axis/"+name] = func(t *testing.T, seed uint64, at place) { axisClaimsNoMoreThanIsRead(t, reading, seed, at) }
	}
	out["partitions"] = func(t *testing.T, seed uint64, at place) { partitionsClaimWhatWasRead(t, seed, at) }
	return out
}

// What holds in a file holds on a server: every form with one seed.
func TestClaimsOnServer(t *testing.T) { claimOnServer(t, 2, 3) }

// The same with more of them.
func TestProofClaimsOnServer(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	claimOnServer(t, 3, 12)
}

func claimOnServer(t *testing.T, first, behind uint64) {
	for name, claim := range claims(t) {
		for seed := first; seed < behind; seed++ {
			t.Run(fmt.Sprint(name, "/", seed), func(t *testing.T) { claim(t, seed, onServer) })
		}
	}
}

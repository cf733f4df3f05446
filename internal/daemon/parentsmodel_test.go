package daemon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// What the book claims has been read, whatever the forge does between and while it is read: repositories come with a past, are
// closed and come back, issues are opened, change and move, and requests fail. The model knows what there was.
func TestWhatTheBookClaimsOfParentsWasRead(t *testing.T) {
	claimsOfParentsWereRead(t, 5)
}

// The same with all histories.
func TestProofWhatTheBookClaimsOfParentsWasRead(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	claimsOfParentsWereRead(t, 1)
}

// claimsOfParentsWereRead goes through one of so many histories of each kind.
func claimsOfParentsWereRead(t *testing.T, oneOf int) {
	sqlite := func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "patra.db") }
	mysql := func(t *testing.T) string { return mariadb.DSN(t) }
	for name, of := range map[string]struct {
		file         string
		seeds, steps int
		database     func(*testing.T) string
		apart        bool // repositories are another source
	}{
		"sqlite":        {forgeSource, 60, 7, sqlite, false},
		"feed":          {forgeFeed, 30, 7, sqlite, false},
		"since":         {forgeSince, 30, 9, sqlite, false},
		"mysql":         {forgeSource, 2, 4, mysql, false},
		"since mysql":   {forgeSince, 2, 5, mysql, false},
		"other source":  {forgeSource, 10, 7, sqlite, true},
		"other, feed":   {forgeFeed, 5, 7, sqlite, true},
		"other, server": {forgeSource, 1, 4, mysql, true},
		"refused":       {forgeRefused, 25, 9, sqlite, false},
		"refused mysql": {forgeRefused, 2, 5, mysql, false},
		"refused since": {refusing(forgeSince), 25, 9, sqlite, false},
		"refused feed":  {refusing(forgeFeed), 15, 9, sqlite, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newForgeWorld(t, of.database(t))
			if w.file = of.file; of.apart {
				w.setApart(t)
			}
			for seed := range uint64(max(1, of.seeds/oneOf)) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					m := &forgeModel{forgeWorld: w, T: t, dice: rand.New(rand.NewPCG(seed, 1)), code: fmt.Sprintf("forge%d", seed), now: marchDay(2)}
					w.clear()
					m.repos, m.issues = w.compile(m.code, "repos"), w.compile(m.code, "issues")
					for range m.draw(2, of.steps) {
						m.step()
						m.checkClaims()
					}
					m.settle()
				})
			}
		})
	}
}

type forgeModel struct {
	*forgeWorld
	*testing.T
	dice          *rand.Rand
	code          string
	now           time.Time
	repos, issues *spec.Compiled
	made          int
	longest       int           // hours between two steps; zero: 40
	announces     bool          // a repository changes with its issues
	unbroken      bool          // no request fails
	lag           time.Duration // that issues are read behind
	mayMiss       bool          // what is claimed may be missing until a sweep was over
	swept, told   int           // that repositories which had not changed should have brought, and are said to have brought
}

func (m *forgeModel) draw(low, high int) int { return low + m.dice.IntN(high-low+1) }

// step lets time pass, changes the forge, and reads it.
func (m *forgeModel) step() {
	m.forge.Lock()
	for range m.draw(0, 4) {
		m.change()
	}
	if m.draw(0, 2) == 0 {
		m.forge.during = m.change // what it changes is stamped now, behind every window
	}
	m.forge.Unlock()
	if m.draw(0, 3) > 0 {
		m.now = m.now.Add(time.Duration(m.draw(1, cmp.Or(m.longest, 40))) * time.Hour)
	}
	if m.draw(0, 3) > 0 {
		m.forgeWorld.harvest(m.repos, m.now)
	}
	if m.refuses() && m.draw(0, 3) == 0 {
		m.recheckNow()
	}
	if m.draw(0, 3) > 0 {
		m.readIssues()
	}
}

// readIssues harvests issues, and adds up what comes with repositories that had not changed.
func (m *forgeModel) readIssues() {
	if !m.mayMiss {
		m.forgeWorld.harvest(m.issues, m.now)
		return
	}
	own, _ := m.issues.Namespace()
	known, err := m.app.store.ParentsKnown(m.T.Context(), own)
	if err != nil {
		m.T.Fatal(err)
	}
	before, parents := m.stored(m.code), m.parents()
	m.told += m.forgeWorld.harvest(m.issues, m.now).Plan.Stats.Swept
	for id, at := range m.stored(m.code) {
		repo, _, _ := strings.Cut(id, "/")
		p := parents[repo]
		if at.Before(known.To) && !at.Equal(before[id]) && p.Changed.Before(known.AsOf) && p.Changed.Before(known.To) && p.Opened.Before(known.AsOf) {
			m.swept++
		}
	}
}

// parents returns the repositories that are stored, by their ids.
func (m *forgeModel) parents() map[string]ingest.Parent {
	found, _, _, err := m.app.store.Parents(m.T.Context(), ingest.ParentLook{Dataset: m.repos.Snapshot.Dataset(), Limit: 1000})
	if err != nil {
		m.T.Fatal(err)
	}
	out := map[string]ingest.Parent{}
	for _, p := range found {
		out[p.ID] = p
	}
	return out
}

// isCurrent reports whether a repository is stored as the forge has it now.
func isCurrent(repo *repository, p ingest.Parent) bool {
	var stored struct{ Updated time.Time }
	return json.Unmarshal(p.Item, &stored) == nil && stored.Updated.Equal(repo.Updated)
}

// change is one thing that happens at the forge now.
func (m *forgeModel) change() {
	names := make([]string, 0, m.made)
	for id := range m.made {
		names = append(names, fmt.Sprintf("r%d", id))
	}
	kind := m.draw(0, 6)
	if m.unbroken {
		kind = m.draw(0, 4)
	}
	if m.made == 0 {
		kind = 0
	}
	if kind == 0 {
		created := m.now.Add(-time.Duration(m.draw(0, 60)) * time.Hour)
		repo := m.forge.add(m.made, created, m.now)
		for number := range m.draw(0, 5) {
			repo.issues[number] = created.Add(time.Duration(m.draw(0, 60)) * time.Hour)
			if repo.issues[number].After(m.now) {
				repo.issues[number] = m.now
			}
		}
		if m.draw(0, 2) == 0 {
			repo.Created = time.Time{}
		}
		m.made++
		return
	}
	repo := m.forge.repos[names[m.dice.IntN(len(names))]]
	number := m.draw(0, 9)
	if m.announces && kind >= 1 && kind <= 3 {
		repo.Updated = m.now
	}
	switch kind {
	case 1: // an issue is opened, or changes
		repo.issues[number] = m.now
	case 2: // moves
		other := m.forge.repos[names[m.dice.IntN(len(names))]]
		if _, there := repo.issues[number]; there {
			delete(repo.issues, number)
			other.issues[number] = m.now
			if m.announces {
				other.Updated = m.now
			}
		}
	case 3: // is removed
		delete(repo.issues, number)
	case 4:
		repo.Closed, repo.Updated = !repo.Closed, m.now
	case 5:
		m.forge.broken[repo.Name] = 404 + 96*m.draw(0, 1)
		if m.refuses() && m.draw(0, 2) > 0 {
			m.forge.broken[repo.Name] = 451
		}
	case 6:
		delete(m.forge.broken, repo.Name)
	}
}

// checkClaims compares what the book says of the issues with what there is.
func (m *forgeModel) checkClaims() {
	if m.mayMiss {
		return
	}
	state, parents := m.state(m.issues), m.state(m.repos)
	if state.Cursor.After(parents.Cursor) {
		m.T.Fatalf("issues are claimed up to %s, and repositories are known up to %s", state.Cursor, parents.Cursor)
	}
	own, _ := m.issues.Namespace()
	known, err := m.app.store.ParentsKnown(m.T.Context(), own)
	if err != nil {
		m.T.Fatal(err)
	}
	stored, lags := m.stored(m.code), m.lags(m.issues)
	for _, p := range m.parents() {
		repo := m.forge.repos["r"+p.ID]
		switch {
		case p.Opened.After(known.AsOf): // nobody claims anything of it yet
			continue
		case m.announces && (p.Changed.After(known.AsOf) || !isCurrent(repo, p)): // nobody claims more of it than what it announced when it was read
			continue
		}
		for number, at := range repo.issues {
			id := fmt.Sprintf("%s/%d", p.ID, number)
			if claimed(at, state, lags, p) && !stored[id].Equal(at) {
				m.T.Fatalf("%s of %s is claimed, and what is stored of it is of %s: %v, lags %+v, known %+v, opened %s, changed %s", id, at, stored[id], state.Segments, lags, known, p.Opened, p.Changed)
			}
		}
	}
}

// claimed reports whether the book says that an instant was read for a parent, as of later than the instant.
func claimed(at time.Time, state coverage.State, lags []sector.Lag, p ingest.Parent) bool {
	for _, l := range lags {
		if l.Window.Contains(at) {
			meant, _ := sector.ParseParent(l.Sector[len("repo="):])
			if meant.Run != nil && meant.Run.Holds(p.Key) || meant.Run == nil && meant.Key == p.Key {
				return false
			}
		}
	}
	for _, seg := range state.Segments {
		if seg.Window.Contains(at) {
			return seg.Done() && !seg.Have.Before(at)
		}
	}
	return false
}

// settle lets everything be answered, and expects all of it to be there with no gap.
func (m *forgeModel) settle() {
	m.forge.Lock()
	clear(m.forge.broken)
	m.forge.during = nil
	m.forge.Unlock()
	if m.refuses() {
		m.recheckNow()
	}
	for range 3 { // one that failed is looked at, and then read
		m.now = m.now.Add(48 * time.Hour)
		m.forgeWorld.harvest(m.repos, m.now)
		m.readIssues()
		m.checkClaims()
	}
	state := m.state(m.issues)
	reached := m.now.Add(-m.lag)
	if gaps := coverage.Gaps(state.Segments, window.Window{From: m.first, To: reached}); len(gaps) > 0 || !state.Cursor.Equal(reached) {
		m.T.Fatalf("the watermark stands at %s of %s, gaps %v, lags %+v", state.Cursor, m.now, gaps, m.lags(m.issues))
	}
	stored := m.stored(m.code)
	for _, repo := range m.forge.repos {
		for number, at := range repo.issues {
			owed := !repo.Closed && !at.Before(m.first) // where the first harvest began
			if id := fmt.Sprintf("%d/%d", repo.ID, number); owed && !stored[id].Equal(at) {
				m.T.Fatalf("%s of %s is missing: %v", id, at, stored[id])
			}
		}
	}
}

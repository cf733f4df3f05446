package executor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// shelved is a model of a list that is given shelf by shelf: which work stands where, and which shelves fail. Requests come one
// after the other.
type shelved struct {
	*formWorld
	chance *rand.Rand
	moved  map[string]string
	broken map[string]bool
	left   int // things that may still happen
	failed int // requests
}

func (m *shelved) shelfOf(id string) string {
	if to, moved := m.moved[id]; moved {
		return to
	}
	return upsim.ShelfNames()[len(id)%4]
}

// happen lets a work come, leave, change or move, or a shelf break or be given again. What changes is stamped behind the window.
func (m *shelved) happen() {
	if m.left == 0 || m.chance.IntN(2) == 0 {
		return
	}
	m.left--
	var all []upsim.Truth
	for truth := range m.data.Heads() {
		all = append(all, truth)
	}
	one, at := all[m.chance.IntN(len(all))].DOI, dayTo.Add(time.Duration(m.left)*time.Second)
	shelf := upsim.ShelfNames()[m.chance.IntN(4)]
	switch m.chance.IntN(6) {
	case 0:
		_, _ = m.data.Add(fmt.Sprintf("10.5555/new-%d", m.left), at)
	case 1:
		_ = m.data.Remove(one)
	case 2:
		_ = m.data.Touch(one, at, true)
	case 3:
		_ = m.data.Touch(one, at, true)
		m.moved[one] = shelf
	case 4:
		m.broken[shelf] = true
	case 5:
		delete(m.broken, shelf)
	}
}

// claimsOfParts expects every work to be stored as it is that the coverage claims for its shelf, also beyond the watermark (I2). It
// returns how many are claimed while another shelf owes the same time.
func (m *shelved) claimsOfParts() (alone int) {
	m.Helper()
	own, err := m.compiled.Namespace()
	m.must(err)
	state, _, err := m.store.CoverageState(m.Context(), own)
	m.must(err)
	lags, err := m.store.SectorLags(m.Context(), own)
	m.must(err)
	records, err := m.store.Records(m.Context(), m.compiled.Snapshot.Source, simulated.Endpoint, nil, 10_000)
	m.must(err)
	stored := map[string]view.Record{}
	for _, r := range records {
		stored[r.ID] = r
	}
	for truth := range m.data.Heads() {
		claimed, beside := claimedFor("shelf="+m.shelfOf(truth.DOI), truth.Indexed, state, lags)
		if claimed && !stored[truth.DOI].UpdatedAt.Equal(truth.Indexed) {
			m.Fatalf("%s of %s on shelf %s is claimed and not stored: %v, lags %+v\n  %s", truth.DOI, truth.Indexed, m.shelfOf(truth.DOI), state.Segments, lags, m.story())
		}
		if claimed && beside {
			alone++
		}
	}
	return alone
}

// claimedFor reports whether an instant counts as read for a part of the list: all parts have it, or only others owe it.
func claimedFor(part string, at time.Time, state coverage.State, lags []sector.Lag) (claimed, beside bool) {
	for _, l := range lags {
		if l.Window.Contains(at) {
			if beside = true; l.Sector == part {
				return false, false
			}
		}
	}
	return beside || slices.ContainsFunc(state.Segments, func(s coverage.Segment) bool { return s.Window.Contains(at) && s.Done() }), beside
}

// A list in parts: whatever comes, changes, moves and leaves while it is read, whichever parts fail, and however often its workers
// die, nothing counts as read for a part that is not there (I2), and once all parts are given the window is read.
func TestPartitionsClaimWhatWasRead(t *testing.T) {
	failed, alone := 0, 0
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := partitionsClaimWhatWasRead(t, seed, inFile)
			failed, alone = failed+m.failed, alone+m.left
		})
	}
	if failed < 20 || alone < 20 {
		t.Errorf("%d requests failed, %d works were claimed while another part owed their time: the test shows little", failed, alone)
	}
}

// partitionsClaimWhatWasRead returns the model, with how many works were claimed beside a part that was owed.
func partitionsClaimWhatWasRead(t *testing.T, seed uint64, at place) *shelved {
	m := &shelved{chance: rand.New(rand.NewPCG(seed, 77)), moved: map[string]string{}, broken: map[string]bool{}, left: 16}
	f := simulated.Shelves()
	f.Options.Forms.Shelf = m.shelfOf
	m.formWorld = startForm(t, f, 60+m.chance.IntN(60), "", "retry.maxAttempts=1", "retry.taskAttempts=1", "slicing.step=PT8H")
	at(m.formWorld)
	m.must(m.server.SetFaults([]upsim.Fault{{Kind: upsim.Fault500, When: func(h upsim.Hit) bool {
		m.happen()
		if m.broken[h.Params.Get("shelf")] {
			m.failed++
			return true
		}
		return false
	}}}))
	alone := 0
	for round := range 4 {
		m.planSince(dayFrom, until.Add(time.Duration(round)*time.Minute))
		m.workAndDie(m.chance, int(seed%3))
		alone += m.claimsOfParts()
		m.clock.advance(48 * time.Hour)
	}
	m.left = 0
	clear(m.broken)
	for round := range 3 { // one that failed is looked at, and then read
		m.planSince(dayFrom, until.Add(time.Duration(4+round)*time.Minute))
		m.work()
		m.claimsOfParts()
		m.clock.advance(48 * time.Hour)
	}
	if at, want := m.watermark(), until.Add(6*time.Minute); !at.Equal(want) {
		t.Errorf("the watermark stands at %s, want %s\n  %s", at, want, m.story())
	}
	m.claimsNoMoreThanIsRead()
	m.checked()
	m.left = alone
	return m
}

package gate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

func TestStakeOf(t *testing.T) {
	// In the order in which they joined: an executor is big, a planner small. Their
	// names say nothing about it.
	for _, c := range []struct{ members, ranks string }{
		{"", ""},
		{"A", "A"},
		{"BA", "BA"},
		{"aB", "Ba"},
		{"DbCA", "DCAb"},
	} {
		var members []gate.Member
		for i, r := range c.members {
			members = append(members, gate.Member{ID: strings.ToLower(string(r)), Executes: r < 'a', No: int64(i + 1), Seen: int64(len(c.members))})
		}
		for _, m := range members {
			name := m.ID
			if m.Executes {
				name = strings.ToUpper(name)
			}
			rank := strings.Index(c.ranks, name)
			if got := gate.StakeOf(m.ID, members); got != (gate.Stake{Rank: rank, N: len(c.ranks), Takes: true}) {
				t.Errorf("%s: %s has %+v, want %d of %d", c.members, name, got, rank, len(c.ranks))
			}
			if leads := gate.Leads(m.ID, members); leads != (m.Executes && rank == 0) {
				t.Errorf("%s: %s leads: %v", c.members, name, leads)
			}
		}
		if got := gate.StakeOf("x", members); got.Takes || (gate.Limits{Concurrency: 100}).Share(got.Rank, got.N).Concurrency != 0 {
			t.Errorf("%s: one who is not there has %+v", c.members, got)
		}
	}
}

// model is many processes at one store, whose clocks run apart, that are stopped
// and go on, are killed, and whose questions take long.
type model struct {
	*rand.Rand
	now     time.Duration // real time
	step    time.Duration // of the store's clock
	rows    map[string]*modelRow
	counter int64
	procs   []*process
	next    int
}

type modelRow struct {
	gate.Member
	void time.Duration
}

// process holds to its stake until its own clock says that it is void.
type process struct {
	me      gate.Member
	drift   float64 // how fast its clock runs
	stopped time.Duration
	stake   gate.Stake
	entered bool
	asked   time.Duration // real time at which the sign of life left that it goes by
	beatAt  time.Duration
	held    int // requests under way
	// of a question that is under way
	answer   []gate.Member
	sent, in time.Duration
	asking   bool
}

func (m *model) clock() time.Duration { return m.now + m.step }

// attend is the store's side, as Store.Attend.
func (m *model) attend(me gate.Member) (out []gate.Member) {
	r := m.rows[me.ID]
	if r == nil || r.No != me.No || r.void < m.clock() || r.Executes != me.Executes {
		m.counter++
		for id, o := range m.rows {
			if o.void < m.clock() {
				delete(m.rows, id)
			}
		}
		r = &modelRow{Member: me}
		r.No, r.Seen = m.counter, m.counter
		m.rows[me.ID] = r
	} else {
		r.Seen = me.Seen
	}
	r.void = m.clock() + gate.VoidAfter
	for _, o := range m.rows {
		if o.void >= m.clock() {
			out = append(out, o.Member)
		}
	}
	return out
}

func (m *model) takes(p *process) bool {
	held := time.Duration(float64(m.now-p.asked) * p.drift)
	return p.entered && p.stopped <= m.now && held < gate.HoldFor
}

const modelPlaces = 5

func (m *model) places(p *process) int {
	return gate.Limits{Concurrency: modelPlaces}.Share(p.stake.Rank, p.stake.N).Concurrency
}

func (m *model) tick(p *process) {
	if p.stopped > m.now {
		return
	}
	if p.asking && m.now >= p.in { // the answer, however old
		p.asking = false
		for _, o := range p.answer {
			if o.ID == p.me.ID && o.No != p.me.No {
				p.me.No, p.me.Seen, p.entered = o.No, o.Seen, false
			}
		}
		p.stake, p.asked = gate.StakeOf(p.me.ID, p.answer), p.sent
		p.entered = p.stake.Takes && (p.entered || p.held <= m.places(p))
		if last := gate.LastJoined(p.answer); last > p.me.Seen && p.held <= m.places(p) {
			p.me.Seen, p.beatAt = last, m.now
		}
	}
	if !p.asking && m.now >= p.beatAt {
		wait := gate.BeatEvery
		if !p.stake.Takes {
			wait = 100 * time.Millisecond
		}
		p.asking, p.sent, p.beatAt = true, m.now, m.now+wait
		p.in = m.now + m.delay()
		p.answer = m.attend(p.me) // at once; the answer may take long
	}
	for p.held > 0 && m.IntN(3) == 0 {
		p.held--
	}
	for m.takes(p) && p.held < m.places(p) && m.IntN(2) == 0 {
		p.held++
	}
}

func (m *model) delay() time.Duration {
	if m.IntN(40) == 0 {
		return m.duration(8 * time.Second)
	}
	return m.duration(100 * time.Millisecond)
}

func (m *model) duration(most time.Duration) time.Duration {
	return time.Duration(m.Int64N(int64(most)))
}

// law is I11: the shares in force together are at most the whole, and so is what
// is under way. What a process had under way when it was stopped has long been
// answered when others take its share.
func (m *model) law(t *testing.T) (takers int) {
	t.Helper()
	places, rate := 0, 0.0
	for _, p := range m.procs {
		if m.takes(p) {
			takers++
			places += max(p.held, m.places(p))
			rate += 1 / float64(p.stake.N)
		}
	}
	if places > modelPlaces || rate > 1+1e-9 {
		for _, p := range m.procs {
			t.Logf("%+v takes %v", *p, m.takes(p))
		}
		t.Fatalf("after %v: %d places of %d, %.2f of the rate", m.now, places, modelPlaces, rate)
	}
	return takers
}

// I11: whoever joins, leaves, dies or stands still at any moment, and however long
// the store takes to answer, shares never add up to more than the whole.
func TestBelieve12SharesNeverAddUpToMore(t *testing.T) {
	most := 0
	for seed := range uint64(100) {
		m := &model{Rand: rand.New(rand.NewPCG(seed, 12)), rows: map[string]*modelRow{}}
		for range 6000 {
			m.now += 20 * time.Millisecond
			m.happen()
			for _, p := range m.procs {
				m.tick(p)
			}
			most = max(most, m.law(t))
		}
	}
	if most < 4 {
		t.Errorf("at most %d processes ever took a share at the same time: the model tests nothing", most)
	}
}

func (m *model) happen() {
	switch m.IntN(400) {
	case 0, 1, 2:
		if len(m.procs) < 7 {
			m.next++
			id := fmt.Sprintf("%d-%d", m.IntN(10), m.next)
			m.procs = append(m.procs, &process{me: gate.Member{ID: id, Executes: m.IntN(3) > 0}, drift: 0.9 + 0.2*m.Float64(), beatAt: m.now})
		}
	case 3: // killed
		if len(m.procs) > 0 {
			m.procs = slices.Delete(m.procs, 0, 1)
		}
	case 4: // leaves
		if n := len(m.procs); n > 0 && m.procs[n-1].stopped <= m.now {
			delete(m.rows, m.procs[n-1].me.ID)
			m.procs = m.procs[:n-1]
		}
	case 5, 6: // stands still
		if n := len(m.procs); n > 0 {
			m.procs[m.IntN(n)].stopped = m.now + m.duration(15*time.Second)
		}
	case 7: // does something else
		if n := len(m.procs); n > 0 {
			if p := m.procs[m.IntN(n)]; p.stopped <= m.now && p.held == 0 && !p.asking {
				delete(m.rows, p.me.ID) // it leaves and joins again
				p.stake, p.entered, p.me = gate.Stake{}, false, gate.Member{ID: p.me.ID, Executes: !p.me.Executes}
			}
		}
	case 8: // the store's clock is set
		m.step += m.duration(2*time.Second) - time.Second
	}
}

package transport

import (
	"strings"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// memberStates is what this process heard of the members of pools, by their rate keys. There are as many
// as sources declare, so nothing is thrown away.
type memberStates struct {
	mu      sync.Mutex
	all     map[string]*memberState
	printed map[secret.Ref]printed
}

// printed is what a command printed, for masks only.
type printed struct {
	text secret.Text
	at   time.Time
}

// printedFor is how long what a command printed hides it in answers to others.
const printedFor = 10 * time.Minute

func (s *memberStates) printedBy(ref secret.Ref, now time.Time) (secret.Text, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.printed[ref]
	return p.text, ok && now.Sub(p.at) < printedFor
}

// keepPrinted keeps what a command printed. Variables and files are read each time.
func (s *memberStates) keepPrinted(ref secret.Ref, text secret.Text, now time.Time) {
	if scheme, _ := ref.Split(); scheme != "exec" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.printed[ref] = printed{text, now}
}

// memberState is one member.
type memberState struct {
	announced gate.Announced
	rests     time.Time // told to wait until then
	running   int       // runs that have chosen it
	refused   string    // why it was set aside; empty: it was not
	since     time.Time
	values    []secret.Text // its secrets when it was set aside
}

func newMemberStates() *memberStates {
	return &memberStates{all: map[string]*memberState{}, printed: map[secret.Ref]printed{}}
}

// setAsideFor is how long a member is not chosen that was refused, while others serve. Then one request looks
// again; a changed secret is noticed at once.
const setAsideFor = time.Hour

// of returns the state of a member. s.mu is held.
func (s *memberStates) of(key string) *memberState {
	m := s.all[key]
	if m == nil {
		m = &memberState{}
		s.all[key] = m
	}
	return m
}

func (m *memberState) isAside(now time.Time) bool {
	return m.refused != "" && now.Sub(m.since) < setAsideFor
}

// serves reports whether nothing was heard that keeps a member from going on.
func (s *memberStates) serves(key string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.of(key)
	return !m.isAside(now) && !m.rests.After(now)
}

func (s *memberStates) look(key string, now time.Time) (said gate.Announced, until time.Time, refused bool, running int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.of(key)
	return m.announced, m.rests, m.isAside(now), m.running
}

// hear keeps what the upstream announced as left.
func (s *memberStates) hear(key string, said gate.Announced) {
	if said.Remaining == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(key).announced = said
}

func (s *memberStates) rest(key string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(key).rests = until
}

func (s *memberStates) refuse(key, why string, values []secret.Text, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.of(key)
	m.refused, m.since, m.values = why, now, values
}

// forgive ends that a member is set aside: it was served.
func (s *memberStates) forgive(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.of(key)
	m.refused, m.values, m.rests = "", nil, time.Time{}
}

// forgiveChanged ends that a member is set aside whose secret has another value now.
func (s *memberStates) forgiveChanged(key string, changed func(was []secret.Text) bool) {
	s.mu.Lock()
	m := s.of(key)
	aside, was := m.refused != "", m.values
	s.mu.Unlock()
	if aside && changed(was) { // reads files, so not under the lock
		s.forgive(key)
	}
}

// listAside returns which members of a pool are set aside, and why; nil if none is.
func (s *memberStates) listAside(key string, pool []exchange.Member) (out map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range pool {
		if m := s.of(gate.MemberKey(key, p.Name)); m.isAside(time.Now()) {
			if out == nil {
				out = map[string]string{}
			}
			out[p.Name] = m.refused
		}
	}
	return out
}

func (s *memberStates) countRun(key string, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(key).running += by
}

// Choice keeps a run with the member of a pool that was chosen for it: tokens of pages may belong to that one. The
// zero value has none yet. End must be called when the run is over.
type Choice struct {
	mu   sync.Mutex
	held map[string]heldMember // by pool
}

type heldMember struct {
	name, key string
	states    *memberStates
}

// poolName tells pools apart that one run may use: each step of a two-phase source may have its own.
func poolName(key string, pool []exchange.Member) string {
	names := []string{key}
	for _, m := range pool {
		names = append(names, m.Name)
	}
	return strings.Join(names, " ")
}

func (c *Choice) memberOf(key string, pool []exchange.Member) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[poolName(key, pool)].name
}

func (c *Choice) hold(key string, pool []exchange.Member, member string, states *memberStates) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := poolName(key, pool)
	if c.held == nil {
		c.held = map[string]heldMember{}
	}
	if was, ok := c.held[of]; ok {
		was.states.countRun(was.key, -1)
	}
	now := heldMember{member, gate.MemberKey(key, member), states}
	now.states.countRun(now.key, 1)
	c.held[of] = now
}

// End gives up what was chosen.
func (c *Choice) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.held {
		h.states.countRun(h.key, -1)
	}
	c.held = nil
}

package entrance

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
)

const (
	clerkEvery   = 10 * time.Second
	lastWords    = 3 * time.Second
	mostRefusals = 20 // rows of the audit log a minute; the rest is one more row (R13)
)

// clerk remembers for a moment what the journal is to keep, so that neither a reader nor a
// flood costs a write each.
type clerk struct {
	journal Journal
	log     *slog.Logger
	now     func() time.Time

	mu       sync.Mutex
	tokens   map[int64]time.Time // when they are due to be noted; noted before
	sessions map[int64]time.Time
	used     map[int64]bool // and are to be noted
	seen     map[int64]bool
	refused  map[refusedKey]*access.Refusal
}

// refusedKey is what one row of the audit log is about.
type refusedKey struct {
	minute              time.Time
	actor, route, cause string
	status              int
}

func newClerk(j Journal, log *slog.Logger, now func() time.Time) *clerk {
	return &clerk{journal: j, log: log, now: now, tokens: map[int64]time.Time{}, sessions: map[int64]time.Time{}, used: map[int64]bool{}, seen: map[int64]bool{}, refused: map[refusedKey]*access.Refusal{}}
}

// noteUse remembers that a token was used, and a session was seen.
func (c *clerk) noteUse(token, session int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if due := c.tokens[token]; token != 0 && !now.Before(due) {
		c.tokens[token], c.used[token] = now.Add(access.UseGrain), true
	}
	if due := c.sessions[session]; session != 0 && !now.Before(due) {
		c.sessions[session], c.seen[session] = now.Add(access.UseGrain), true
	}
}

// noteRefusal counts a refusal. The first of its kind in a minute is logged at once.
func (c *clerk) noteRefusal(r access.Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.At = c.now()
	minute := r.At.Truncate(time.Minute)
	k := refusedKey{minute, r.Actor, r.Route, r.Why, r.Status}
	if c.refused[k] == nil && c.countMinute(minute) >= mostRefusals {
		k = refusedKey{minute: minute, actor: "others"}
		r.Actor, r.Route, r.Address, r.Why, r.Status = "others", "-", "", "more callers or routes were refused in this minute than are listed", 0
	}
	known := c.refused[k]
	if known != nil {
		known.Count++
		return
	}
	r.Count = 1
	c.refused[k] = &r
	c.log.Warn("a request was refused", "who", r.Actor, "route", r.Route, "status", r.Status, "why", r.Why)
}

func (c *clerk) countMinute(minute time.Time) (n int) {
	for k := range c.refused {
		if k.minute.Equal(minute) {
			n++
		}
	}
	return n
}

// run writes down what was remembered, until ctx ends; then all that is left.
func (c *clerk) run(ctx context.Context) {
	ticker := time.NewTicker(clerkEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
			defer cancel()
			c.write(last, true)
			return
		case <-ticker.C:
			c.write(ctx, false)
		}
	}
}

// write hands over what was remembered: refusals of minutes that are over, or all. What
// cannot be written is tried again, within bounds.
func (c *clerk) write(ctx context.Context, all bool) {
	tokens, sessions, refused := c.collect(all)
	if len(tokens)+len(sessions) > 0 {
		if err := c.journal.NoteAccessUses(ctx, tokens, sessions); err != nil {
			c.log.Warn("the last use of access tokens could not be written", "error", err)
		}
	}
	if len(refused) == 0 {
		return
	}
	var rows []access.Refusal
	for _, k := range sortedKeys(refused) {
		rows = append(rows, *refused[k])
	}
	if err := c.journal.NoteRefusals(ctx, rows); err != nil {
		c.log.Warn("refusals could not be written into the audit log; it is tried again", "error", err)
		c.putBack(refused)
	}
}

func (c *clerk) collect(all bool) (tokens, sessions []int64, refused map[refusedKey]*access.Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tokens, sessions = slices.Sorted(maps.Keys(c.used)), slices.Sorted(maps.Keys(c.seen))
	clear(c.used)
	clear(c.seen)
	now := c.now()
	for _, due := range []map[int64]time.Time{c.tokens, c.sessions} {
		maps.DeleteFunc(due, func(_ int64, at time.Time) bool { return !now.Before(at) })
	}
	refused = map[refusedKey]*access.Refusal{}
	for k, r := range c.refused {
		if all || !now.Before(k.minute.Add(time.Minute)) {
			refused[k] = r
			delete(c.refused, k)
		}
	}
	return tokens, sessions, refused
}

// putBack keeps what could not be written, but not for ever: a database that is gone for
// an hour must not fill the memory. The log has each.
func (c *clerk) putBack(refused map[refusedKey]*access.Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, r := range refused {
		if len(c.refused) < 60*mostRefusals {
			c.refused[k] = r
		}
	}
}

func sortedKeys(refused map[refusedKey]*access.Refusal) []refusedKey {
	return slices.SortedFunc(maps.Keys(refused), func(a, b refusedKey) int { return refused[a].At.Compare(refused[b].At) })
}

// noteAnswer remembers a refusal when the answer is known, whoever gave it.
func (e *Entrance) noteAnswer(w *watched, r *http.Request, v *visit) {
	switch w.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusMisdirectedRequest, http.StatusTooManyRequests:
		if v.why == "" {
			v.why = fmt.Sprintf("answered %d", w.status)
		}
	case http.StatusNotFound:
	default:
		return
	}
	if v.why != "" {
		e.clerk.noteRefusal(access.Refusal{Actor: v.actor(), Route: routeOf(r), Why: v.why, Address: v.address, Status: w.status})
	}
}

package transport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// Standings tells how a rate key stands, and takes nothing. Permits may do so too.
type Standings interface {
	Standing(ctx context.Context, key string, l gate.Limits) (gate.Snapshot, error)
}

// pooled signs each call with one member of its pool, and counts it under a key of that member. It stands
// below retry: a member that is refused, or has nothing left, is replaced within one try, and only if
// none can serve is there anything to wait for.
type pooled struct {
	next    Doer
	gates   Standings // nil: only what was heard here is known
	secrets Secrets
	known   *memberStates
}

func (p pooled) Do(ctx context.Context, c *Call) (*exchange.Response, error) {
	if len(c.Request.Pool) == 0 {
		return p.next.Do(ctx, c)
	}
	key, required := c.Key, c.Request.CredentialRequired
	defer func() { c.Key, c.Request.CredentialRequired = key, required }()
	once := &Choice{} // of a call that belongs to no run
	defer once.End()
	held := c.Choice
	if held == nil {
		held = once
	}
	failed := map[string]*fault.Error{}
	for {
		m := p.chooseMember(ctx, c, key, held, failed)
		c.signWith(m, key)
		c.hidden = p.otherSecrets(ctx, c)
		before := c.Notes.Requests()
		response, err := p.next.Do(ctx, c)
		c.Notes.countMember(m.Name, c.Notes.Requests()-before)
		problem := p.learn(ctx, c, response, err)
		c.Notes.Aside = p.known.listAside(key, c.Request.Pool)
		if problem == nil {
			return response, err
		}
		failed[m.Name] = problem
		if !c.Request.Replayable {
			return p.strand(ctx, c, key, response, problem)
		}
		if len(failed) < len(c.Request.Pool) {
			continue
		}
		if !required && allAbsent(failed) {
			c.goAnonymous(key)
			return p.next.Do(ctx, c)
		}
		return nil, joinFailures(c.Request.Pool, failed)
	}
}

// signWith lets the call be signed, and counted, as the member's. What it needs is there or the member
// fails: without it another one is tried before the request goes without.
func (c *Call) signWith(m exchange.Member, key string) {
	if c.Request.Member != m.Name {
		c.token, c.renewed = nil, false
	}
	c.Request.Credential, c.Request.Member, c.Request.CredentialRequired = m.Credential, m.Name, true
	c.Key = gate.MemberKey(key, m.Name)
	c.Notes.Member = m.Name
}

// countMember adds requests to those of a member.
func (n *Notes) countMember(name string, requests int) {
	if n.Members == nil {
		n.Members = map[string]int{}
	}
	n.Members[name] += requests
}

// goAnonymous sends the call without a credential, as the source allows.
func (c *Call) goAnonymous(key string) {
	c.Request.Credential, c.Request.Member, c.Key, c.Notes.Member, c.token = exchange.Credential{}, "", key, "", nil
}

// chooseMember keeps the member of the run while it can serve, and chooses another where it cannot. A request
// whose token cannot be replayed stays with its member whatever comes: the token is the member's.
func (p pooled) chooseMember(ctx context.Context, c *Call, key string, held *Choice, failed map[string]*fault.Error) exchange.Member {
	now := time.Now()
	pool := c.Request.Pool
	if name := held.memberOf(key, pool); name != "" && failed[name] == nil {
		if !c.Request.Replayable || p.known.serves(gate.MemberKey(key, name), now) {
			return pool[slices.IndexFunc(pool, func(m exchange.Member) bool { return m.Name == name })]
		}
	}
	left := slices.DeleteFunc(slices.Clone(pool), func(m exchange.Member) bool { return failed[m.Name] != nil })
	all := make([]gate.Standing, len(left))
	for i, m := range left {
		all[i] = p.standingOf(ctx, c, m, gate.MemberKey(key, m.Name), now)
	}
	m := left[gate.Choose(all, int(c.Task%int64(len(left))), now)]
	held.hold(key, pool, m.Name, p.known)
	return m
}

// standingOf returns what is known of a member. One that was refused is looked at again when its secret
// has another value.
func (p pooled) standingOf(ctx context.Context, c *Call, m exchange.Member, key string, now time.Time) gate.Standing {
	p.known.forgiveChanged(key, func(was []secret.Text) bool { return !slices.EqualFunc(was, p.valuesOf(ctx, m, c), secret.Text.Equal) })
	limits, state := c.Limits.WithoutKey(), gate.Snapshot{}
	state.PerSecond, state.BurstLeft = limits.Filled().PerSecond, float64(limits.Filled().Burst)
	if p.gates != nil {
		if known, err := p.gates.Standing(ctx, key, limits); err == nil {
			state = known
		}
	}
	said, until, refused, running := p.known.look(key, now)
	out := gate.StandingOf(state, limits, said, now)
	out.Refused, out.Running = refused, running
	if until.After(out.From) {
		out.From = until
	}
	return out
}

// valuesOf reads the secrets of a member that lie in variables and files. Commands are run for requests only.
func (p pooled) valuesOf(ctx context.Context, m exchange.Member, c *Call) (out []secret.Text) {
	for _, ref := range m.Credential.References() {
		if scheme, _ := ref.Split(); scheme == "exec" || p.secrets == nil {
			continue
		}
		text, _ := p.secrets.Reveal(ctx, ref, sentTo(c.Request)) // one that is not there is empty
		out = append(out, text)
	}
	return out
}

// otherSecrets returns the secrets of the members that a request is not signed with: the upstream knows them, and may
// repeat them in any answer. What a command prints is kept for a while, so that requests do not run the commands of
// all members each time.
func (p pooled) otherSecrets(ctx context.Context, c *Call) (out []secret.Text) {
	for _, m := range c.Request.Pool {
		if m.Name == c.Request.Member || p.secrets == nil {
			continue
		}
		for _, ref := range m.Credential.SecretReferences() {
			text, kept := p.known.printedBy(ref, time.Now())
			if !kept {
				text, _ = p.secrets.Reveal(ctx, ref, sentTo(c.Request)) // one that is not there needs no mask
				p.known.keepPrinted(ref, text, time.Now())
			}
			if !text.IsZero() {
				out = append(out, text)
			}
		}
	}
	return out
}

// learn notes what an answer says of the member, and returns why another one should be tried; nil if the answer
// is about something else.
func (p pooled) learn(ctx context.Context, c *Call, response *exchange.Response, err error) *fault.Error {
	now := time.Now()
	problem := c.memberFault(response, err)
	if response != nil {
		p.known.hear(c.Key, gate.ReadHeaders(response.Header, now))
	}
	switch {
	case problem == nil:
		if response != nil && response.Status < 300 {
			p.known.forgive(c.Key)
		}
	case isRefusal(problem):
		m := exchange.Member{Name: c.Request.Member, Credential: c.Request.Credential}
		p.known.refuse(c.Key, describeRefused(problem), p.valuesOf(ctx, m, c), now)
	default:
		p.known.rest(c.Key, now.Add(min(max(problem.Wait, shortestRest), longestRest)))
	}
	return problem
}

// How long a member is left alone that has to wait: at least so long, though nobody said for how long, and not longer
// than the gate may know it by then, which hears too when a wait is over early.
const (
	shortestRest = 2 * time.Second
	longestRest  = time.Minute
)

// memberFault returns the fault of an answer, or of its absence, that another member may not have: it was
// refused, told to wait, or its secret could not be read.
func (c *Call) memberFault(response *exchange.Response, err error) *fault.Error {
	var f *fault.Error
	if response != nil && err == nil {
		if known := c.Retry.ClassifyStatus(response.Status); known != nil && isOfMember(known) {
			f = c.faultOf(response) // what the body says of it counts
		}
	} else if !errors.As(err, &f) || errors.As(err, new(*trust.Refusal)) {
		return nil // the caller was stopped, or a person has to agree first
	}
	if f == nil || !isOfMember(f) {
		return nil
	}
	return f
}

// isOfMember reports a fault that may be gone with another member.
func isOfMember(f *fault.Error) bool {
	return f.Code == fault.RateLimited || f.Code == fault.Unauthorized && f.Level != fault.Request
}

// isRefusal tells a member that is of no use from one that has to wait.
func isRefusal(f *fault.Error) bool { return f.Code == fault.Unauthorized && f.Level == fault.Fatal }

// strand ends a try whose token belongs to a member that cannot go on. If another one can, the slice starts over
// with it; else it is as if there were no pool.
func (p pooled) strand(ctx context.Context, c *Call, key string, response *exchange.Response, problem *fault.Error) (*exchange.Response, error) {
	now := time.Now()
	other := slices.ContainsFunc(c.Request.Pool, func(m exchange.Member) bool {
		s := p.standingOf(ctx, c, m, gate.MemberKey(key, m.Name), now)
		return m.Name != c.Request.Member && !s.Refused && s.IsFree(now)
	})
	if waits := !isRefusal(problem) && problem.Wait <= c.Retry.RetryAfterCap.Std(); waits || !other {
		return nil, problem
	}
	lost := fault.New(fault.TokenLost, fmt.Errorf("the token belongs to the credential %s, which cannot go on: %w", c.Request.Member, problem))
	lost.Status = problem.Status
	return nil, lost
}

func allAbsent(failed map[string]*fault.Error) bool {
	for _, f := range failed {
		if !errors.Is(f, secret.ErrAbsent) {
			return false
		}
	}
	return true
}

// joinFailures returns the fault of a pool none of whose members can serve. If any of them only has to wait, so
// has the pool, until the first of them may go on. Else a person has to act, and hears of each.
func joinFailures(pool []exchange.Member, failed map[string]*fault.Error) *fault.Error {
	var soonest *fault.Error
	var texts []string
	for _, m := range pool {
		f := failed[m.Name]
		if !isRefusal(f) && (soonest == nil || f.Wait < soonest.Wait) {
			soonest = f
		}
		texts = append(texts, m.Name+" ("+describeRefused(f)+")")
	}
	if soonest != nil {
		out := *soonest
		out.Err = fmt.Errorf("no member of the pool can serve now: %s", strings.Join(texts, "; "))
		return &out
	}
	out := *failed[pool[0].Name]
	out.Err = fmt.Errorf("all %d members of the pool are refused: %s", len(pool), strings.Join(texts, "; "))
	if allAbsent(failed) {
		out.Err = fmt.Errorf("%w: %w", out.Err, secret.ErrAbsent)
	}
	return &out
}

// describeRefused says in words of ours why a member cannot serve, with the references to look behind.
func describeRefused(f *fault.Error) string {
	text := f.Err.Error()
	if f.Status != 0 {
		text = fmt.Sprintf("HTTP %d: %s", f.Status, text)
	}
	return text
}

package transport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/pause"
)

// keyed is an upstream that gives each key a number of requests, and tells everybody all it knows.
type keyed struct {
	mu     sync.Mutex
	left   map[string]int // by key; absent: refused
	served map[string]int
	asked  []string
	resets time.Duration
}

func (u *keyed) Send(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := r.Header.Get("X-Key")
	u.asked = append(u.asked, key)
	echo := []byte(fmt.Sprint(u.left, key))
	left, known := u.left[key]
	headers := exchange.Header{"X-Ratelimit-Remaining": {strconv.Itoa(max(left-1, 0))}, "X-Ratelimit-Reset": {strconv.Itoa(int(u.resets.Seconds()))}}
	switch {
	case !known:
		return &exchange.Response{Status: 401, Body: echo}, nil
	case left == 0:
		headers.Set("Retry-After", strconv.Itoa(int(u.resets.Seconds())))
		return &exchange.Response{Status: 429, Header: headers, Body: echo}, nil
	}
	u.left[key]--
	u.served[key]++
	return &exchange.Response{Status: 200, Header: headers, Body: echo}, nil
}

// counting is a gate that tells how its keys stand, and counts what passed under each.
type counting struct {
	turnstile
	under map[string]int
	used  map[string]float64
	held  map[string]time.Duration // it refuses these for so long
}

func (g *counting) Acquire(ctx context.Context, a gate.Ask) (Permit, error) {
	if wait := g.held[a.Key]; wait > 0 {
		return nil, gate.Verdict{Decision: gate.Reject, Until: time.Now().Add(wait), Reason: gate.Quota}.Fault(a.Key, time.Now())
	}
	g.mu.Lock()
	g.under[a.Key]++
	g.mu.Unlock()
	return g.turnstile.Acquire(ctx, a)
}

func (g *counting) Standing(_ context.Context, key string, l gate.Limits) (gate.Snapshot, error) {
	return gate.Snapshot{Key: key, PerSecond: 1, Quotas: []gate.Usage{{Name: "day", Usable: 1000, Used: g.used[key], Reset: time.Now().Add(time.Hour)}}}, nil
}

func newCounting() *counting {
	return &counting{under: map[string]int{}, used: map[string]float64{}, held: map[string]time.Duration{}}
}

var poolSecrets = named{"env:ONE": "kanari-one", "env:TWO": "kanari-two", "env:THREE": "kanari-three"}

func poolCall(t *testing.T, names ...string) *Call {
	c := call()
	c.Key, c.Request.CredentialRequired, c.Request.Replayable = "example", true, true
	c.Request.Credential = exchange.Credential{Type: "POOL", Members: names}
	for _, name := range names {
		c.Request.Pool = append(c.Request.Pool, exchange.Member{Name: name, Credential: exchange.Credential{Type: "API_KEY", In: "HEADER", Name: "X-Key", Value: ref(t, "env:"+strings.ToUpper(name))}})
	}
	c.Retry = fault.RetryPolicy{MaxAttempts: 1}.WithDefaults()
	return c
}

func newKeyed(left map[string]int) *keyed {
	return &keyed{left: left, served: map[string]int{}, resets: time.Hour}
}

// The member with most left of its quota is chosen, its requests are counted under a key of its own, and its name is
// all that is kept.
func TestPoolChoosesByWhatIsLeft(t *testing.T) {
	up, gates := newKeyed(map[string]int{"kanari-one": 9, "kanari-two": 9}), newCounting()
	gates.used["example:one"] = 500
	in := poolCall(t, "one", "two")
	response, err := StackSigned(up, poolSecrets, gates).Do(t.Context(), in)
	if err != nil || up.served["kanari-two"] != 1 || gates.under["example:two"] != 1 || len(gates.under) != 1 {
		t.Errorf("%v, served %v under %v", err, up.served, gates.under)
	}
	if in.Notes.Member != "two" || in.Notes.Request.Credential != "two" || in.Notes.Members["two"] != 1 || in.Key != "example" {
		t.Errorf("noted %+v under %s", in.Notes, in.Key)
	}
	quiet(t, in, response, err)
}

// What the upstream announces counts as well as our own quotas do.
func TestPoolChoosesByWhatIsAnnounced(t *testing.T) {
	up, gates := newKeyed(map[string]int{"kanari-one": 3, "kanari-two": 50}), newCounting()
	chain := StackSigned(up, poolSecrets, gates)
	for range 20 {
		if _, err := chain.Do(t.Context(), poolCall(t, "one", "two")); err != nil {
			t.Fatal(err)
		}
	}
	if up.served["kanari-one"] > 2 || len(up.asked) != 20 {
		t.Errorf("served %v", up.served)
	}
}

// A run stays with its member from page to page, and others take another one meanwhile.
func TestARunStaysWithItsMember(t *testing.T) {
	up := newKeyed(map[string]int{"kanari-one": 50, "kanari-two": 50})
	chain := StackSigned(up, poolSecrets, newCounting())
	var first, second Choice
	pages := func(of *Choice) (out []string) {
		for range 3 {
			in := poolCall(t, "one", "two")
			in.Choice = of
			if _, err := chain.Do(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			out = append(out, in.Notes.Member)
		}
		return out
	}
	a, b := pages(&first), pages(&second)
	if fmt.Sprint(a, b) != "[one one one] [two two two]" {
		t.Errorf("%v and %v", a, b)
	}
	first.End()
	second.End()
	states := chain.(retry).next.(pooled).known
	for _, key := range []string{"example:one", "example:two"} {
		if n := states.all[key].running; n != 0 {
			t.Errorf("%d runs of %s go on", n, key)
		}
	}
}

// A member that is refused, has nothing left, or has no secret is set aside, and the others serve; the same request
// asks each at most once.
func TestPoolGoesOnWithoutAMember(t *testing.T) {
	for name, c := range map[string]struct {
		left    map[string]int
		secrets named
		held    string
		want    string
		aside   string
	}{
		"refused":              {map[string]int{"kanari-two": 9}, poolSecrets, "", "[kanari-one kanari-two]", "one"},
		"used up":              {map[string]int{"kanari-one": 0, "kanari-two": 9}, poolSecrets, "", "[kanari-one kanari-two]", ""},
		"absent":               {map[string]int{"kanari-two": 9}, named{"env:TWO": "kanari-two"}, "", "[kanari-two]", "one"},
		"held by our own gate": {map[string]int{"kanari-one": 9, "kanari-two": 9}, poolSecrets, "example:one", "[kanari-two]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			up, gates := newKeyed(c.left), newCounting()
			if c.held != "" {
				gates.held[c.held] = 5 * time.Hour
			}
			chain := StackSigned(up, c.secrets, gates)
			in := poolCall(t, "one", "two")
			response, err := chain.Do(t.Context(), in)
			if err != nil || fmt.Sprint(up.asked) != c.want || in.Notes.Member != "two" {
				t.Errorf("%v: asked %v", err, up.asked)
			}
			if _, aside := in.Notes.Aside[c.aside]; aside != (c.aside != "") {
				t.Errorf("set aside %v", in.Notes.Aside)
			}
			quiet(t, in, response, err)
			before := len(up.asked)
			if _, err := chain.Do(t.Context(), poolCall(t, "one", "two")); err != nil || len(up.asked) != before+1 || up.asked[before] != "kanari-two" {
				t.Errorf("%v: the next request asked %v", err, up.asked[before:])
			}
		})
	}
}

// If all are refused, the error names each with the reference to look behind. If one of them only has to wait, the
// pool waits for that one.
func TestPoolWithoutAMember(t *testing.T) {
	up := newKeyed(map[string]int{})
	in := poolCall(t, "one", "two")
	response, err := StackSigned(up, poolSecrets, newCounting()).Do(t.Context(), in)
	f := fault.As(err)
	if f.Code != fault.Unauthorized || f.Level != fault.Fatal || f.Status != 401 || !strings.Contains(f.Error(), "all 2 members") || !strings.Contains(f.Error(), "check env:ONE") || !strings.Contains(f.Error(), "check env:TWO") {
		t.Error(err)
	}
	quiet(t, in, response, err)

	gates := newCounting()
	gates.held = map[string]time.Duration{"example:one": 5 * time.Hour, "example:two": 3 * time.Hour}
	_, err = StackSigned(up, poolSecrets, gates).Do(t.Context(), poolCall(t, "one", "two", "three"))
	if f := fault.As(err); f.Code != fault.RateLimited || f.Level != fault.Transient || f.Wait < 2*time.Hour || f.Wait > 3*time.Hour || f.Held != string(gate.Quota) {
		t.Errorf("%+v", f)
	}
}

// Without any secret a pool that may be left out sends anonymous requests, and one that may not sends none.
func TestPoolWithoutSecrets(t *testing.T) {
	up, gates := newKeyed(map[string]int{"": 9}), newCounting()
	in := poolCall(t, "one", "two")
	in.Request.CredentialRequired = false
	if _, err := StackSigned(up, named{}, gates).Do(t.Context(), in); err != nil || len(up.asked) != 1 || gates.under["example"] != 1 || in.Notes.Member != "" || in.Request.CredentialRequired {
		t.Errorf("%v, %v under %v", err, up.asked, gates.under)
	}
	_, err := StackSigned(up, named{}, gates).Do(t.Context(), poolCall(t, "one", "two"))
	if !errors.Is(err, secret.ErrAbsent) || fault.As(err).Level != fault.Fatal || len(up.asked) != 1 {
		t.Errorf("%v, asked %v", err, up.asked)
	}
}

// passing lets time pass inside a bubble.
func passing(t *testing.T, d time.Duration) {
	t.Helper()
	if err := pause.For(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// A member that was refused is tried again when its secret has another value, and else an hour later; a member
// that had nothing left is, when its time has come.
func TestPoolTriesAMemberAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, secrets := newKeyed(map[string]int{"kanari-two": 99, "kanari-new": 99}), named{"env:ONE": "kanari-one", "env:TWO": "kanari-two"}
		up.resets = time.Minute
		gates := newCounting()
		gates.used["example:two"] = 900 // one would be chosen
		chain := StackSigned(up, secrets, gates)
		ask := func() string {
			in := poolCall(t, "one", "two")
			if _, err := chain.Do(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			return in.Notes.Member
		}
		if served := []string{ask(), ask()}; !slices.Equal(served, []string{"two", "two"}) || fmt.Sprint(up.asked) != "[kanari-one kanari-two kanari-two]" {
			t.Errorf("asked %v, served by %v", up.asked, served)
		}
		passing(t, setAsideFor)
		if up.asked = nil; ask() != "two" || fmt.Sprint(up.asked) != "[kanari-one kanari-two]" {
			t.Errorf("an hour later asked %v", up.asked)
		}
		secrets["env:ONE"] = "kanari-new"
		if up.asked = nil; ask() != "one" || fmt.Sprint(up.asked) != "[kanari-new]" {
			t.Errorf("with another secret asked %v", up.asked)
		}
		up.left["kanari-new"] = 0
		if served := []string{ask(), ask()}; !slices.Equal(served, []string{"two", "two"}) {
			t.Errorf("one has nothing left, and %v served", served)
		}
		up.left["kanari-new"] = 99
		passing(t, 2*time.Minute)
		if got := ask(); got != "one" {
			t.Errorf("%s serves when one may again", got)
		}
	})
}

// A token that cannot be replayed belongs to the member that got it: it is never shown by another one. If its
// member cannot go on and another could, the slice starts over.
func TestATokenStaysWithItsMember(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*keyed)
		code   fault.Code
	}{
		"refused":             {func(u *keyed) { delete(u.left, "kanari-one") }, fault.TokenLost},
		"used up for long":    {func(u *keyed) { u.left["kanari-one"] = 0 }, fault.TokenLost},
		"used up for a while": {func(u *keyed) { u.left["kanari-one"], u.resets = 0, time.Second }, fault.RateLimited},
		"all refused":         {func(u *keyed) { clear(u.left) }, fault.Unauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			up := newKeyed(map[string]int{"kanari-one": 5, "kanari-two": 5})
			chain := StackSigned(up, poolSecrets, newCounting())
			if name == "all refused" {
				c.change(up)
				_, _ = chain.Do(t.Context(), poolCall(t, "one", "two"))
				up.left["kanari-one"] = 5
			}
			var run Choice
			defer run.End()
			page := func(replayable bool) (*Call, error) {
				in := poolCall(t, "one", "two")
				in.Choice, in.Request.Replayable = &run, replayable
				_, err := chain.Do(t.Context(), in)
				return in, err
			}
			if in, err := page(true); err != nil || in.Notes.Member != "one" {
				t.Fatalf("%s, %v", in.Notes.Member, err)
			}
			c.change(up)
			up.asked = nil
			in, err := page(false)
			if fault.As(err).Code != c.code || fmt.Sprint(up.asked) != "[kanari-one]" {
				t.Errorf("%v: asked %v", err, up.asked)
			}
			quiet(t, in, nil, err)
			if up.asked = nil; c.code == fault.RateLimited { // known by now, and still nobody else's token
				if _, err := page(false); fault.As(err).Code != c.code || fmt.Sprint(up.asked) != "[kanari-one]" {
					t.Errorf("then %v: asked %v", err, up.asked)
				}
			}
			if c.code != fault.TokenLost {
				return
			}
			if in, err := page(true); err != nil || in.Notes.Member != "two" {
				t.Errorf("started over with %s, %v", in.Notes.Member, err)
			}
		})
	}
}

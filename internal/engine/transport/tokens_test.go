package transport

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

func TestTokenIsSharedUntilItExpires(t *testing.T) {
	for life, c := range map[string]struct {
		uses  time.Duration // how long the first token is sent
		calls int           // after that
	}{
		`3600`:   {3600*time.Second - margin, 2},
		`"3600"`: {3600*time.Second - margin, 2},
		`100`:    {90 * time.Second, 2}, // the margin is a tenth of a short life
		`0`:      {0, 3},
		`-5`:     {0, 3},
		`1e300`:  {1000 * time.Hour, 1},
		`null`:   {1000 * time.Hour, 1},
		``:       {1000 * time.Hour, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			up, permits := &authority{life: life}, &turnstile{}
			chain := StackSigned(up, grantSecrets, permits)
			ask := func() {
				call, response, err := upon(t.Context(), chain, grantOf(t, nil))
				if err != nil {
					t.Fatalf("%s: %v", life, err)
				}
				quiet(t, call, response, err)
			}
			ask()
			if c.uses > 0 {
				<-time.After(c.uses - 1)
				if ask(); len(up.asked) != 1 {
					t.Errorf("%s: a new token before %v", life, c.uses)
				}
				<-time.After(1)
			}
			ask()
			if c.calls == 3 {
				ask()
			}
			if len(up.asked) != c.calls || up.refused != 0 {
				t.Errorf("%s: %d token calls, %d refused; want %d", life, len(up.asked), up.refused, c.calls)
			}
			// I11: whatever left had its own permit.
			if sent := up.served + len(up.asked); permits.given != sent || permits.back != sent {
				t.Errorf("%s: %d permits taken, %d given back, for %d requests", life, permits.given, permits.back, sent)
			}
		})
	}
}

func TestOneOfManyAsksForTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &authority{life: "60", takes: time.Second}
		chain := StackSigned(up, grantSecrets, &turnstile{})
		for wave := 1; wave <= 3; wave++ {
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					if _, _, err := upon(t.Context(), chain, grantOf(t, nil)); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if len(up.asked) != wave || up.served != 50*wave {
				t.Errorf("wave %d: %d token calls, %d requests", wave, len(up.asked), up.served)
			}
			<-time.After(time.Minute)
		}
	})
}

// Another credential, or another endpoint of the same, has its own token.
func TestTokensAreNotMixed(t *testing.T) {
	up := &authority{}
	chain := StackSigned(up, grantSecrets, &turnstile{})
	for _, change := range []func(*exchange.Credential){
		nil, func(c *exchange.Credential) { c.Scope = "write" }, func(c *exchange.Credential) { c.TokenURL = "https://auth.example.org/token" }, nil,
	} {
		if _, _, err := upon(t.Context(), chain, grantOf(t, change)); err != nil {
			t.Error(err)
		}
	}
	if len(up.asked) != 3 {
		t.Errorf("%d token calls for 3 credentials", len(up.asked))
	}
}

// Whoever makes the call may be stopped; somebody else then makes it.
func TestStoppedLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &authority{takes: time.Minute}
		chain := StackSigned(up, grantSecrets, &turnstile{})
		ctx, stop := context.WithCancelCause(t.Context())
		why := errors.New("shutting down")
		var all sync.WaitGroup
		all.Go(func() {
			if _, _, err := upon(ctx, chain, grantOf(t, nil)); !errors.Is(err, why) {
				t.Error(err)
			}
		})
		synctest.Wait()
		for range 5 {
			all.Go(func() {
				if _, _, err := trying(t.Context(), chain, grantOf(t, nil), 1); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() { // one that waits is stopped at once
			began := time.Now()
			if _, _, err := upon(ctx, chain, grantOf(t, nil)); !errors.Is(err, why) || time.Since(began) != time.Second {
				t.Error(err, time.Since(began))
			}
		})
		<-time.After(time.Second)
		stop(why)
		all.Wait()
		if len(up.asked) != 2 || up.served != 5 {
			t.Errorf("%d token calls, %d requests", len(up.asked), up.served)
		}
	})
}

// A refused token is replaced once, and exactly that one.
func TestRevokedMidRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &authority{life: "3600", takes: time.Second, serves: time.Second}
		permits := &turnstile{}
		chain := StackSigned(up, grantSecrets, permits)
		if _, _, err := upon(t.Context(), chain, grantOf(t, nil)); err != nil {
			t.Fatal(err)
		}
		up.revoke()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				call, response, err := upon(t.Context(), chain, grantOf(t, nil))
				if err != nil || call.Notes.Attempts != 2 {
					t.Errorf("%v after %d attempts", err, call.Notes.Attempts)
				}
				quiet(t, call, response, err)
			})
		}
		all.Wait()
		if len(up.asked) != 2 || up.served != 1+2*50 || up.refused != 50 {
			t.Errorf("%d token calls, %d requests, %d refused", len(up.asked), up.served, up.refused)
		}
		if permits.given != up.served+len(up.asked) {
			t.Errorf("%d permits for %d requests", permits.given, up.served+len(up.asked))
		}
	})
}

// An upstream that refuses every token is asked twice at most, and the token
// endpoint is not asked again with every request.
func TestRefusalStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &authority{}
		chain := StackSigned(up, grantSecrets, &turnstile{})
		if _, _, err := upon(t.Context(), chain, grantOf(t, nil)); err != nil {
			t.Fatal(err)
		}
		up.deny = func(string) bool { return true }
		for i := range 20 {
			before := up.served
			call, response, err := upon(t.Context(), chain, grantOf(t, nil))
			if f := fault.As(err); f.Code != fault.Unauthorized || f.Level != fault.Fatal || up.served-before > 2 {
				t.Errorf("request %d: %v after %d calls", i, err, up.served-before)
			}
			quiet(t, call, response, err)
		}
		if len(up.asked) != 2 {
			t.Errorf("%d token calls while nothing was accepted", len(up.asked))
		}
		up.deny = nil
		up.revoke()
		<-time.After(suspect) // by now the account may have been mended
		if _, _, err := upon(t.Context(), chain, grantOf(t, nil)); err != nil || len(up.asked) != 3 {
			t.Errorf("%v, %d token calls", err, len(up.asked))
		}
	})
}

// A token may be forgotten before it was ever accepted: the first answer was an
// error, and then the upstream lost its sessions. Many requests find out at once;
// that costs one more token, not the source.
func TestFirstTokenIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &authority{serves: time.Second}
		chain := StackSigned(up, grantSecrets, &turnstile{})
		up.deny = func(token string) bool { return token == "token-kanari-1" }
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				call, response, err := upon(t.Context(), chain, grantOf(t, nil))
				if err != nil {
					t.Error(err)
				}
				quiet(t, call, response, err)
			})
		}
		all.Wait()
		if len(up.asked) != 2 || up.refused != 20 {
			t.Errorf("%d token calls, %d refusals", len(up.asked), up.refused)
		}
	})
}

// With an account that is not let in, two tokens are enough to know.
func TestAccountThatIsNotLetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &authority{deny: func(string) bool { return true }}
		chain := StackSigned(up, grantSecrets, &turnstile{})
		for range 20 {
			if _, _, err := upon(t.Context(), chain, grantOf(t, nil)); fault.As(err).Level != fault.Fatal {
				t.Error(err)
			}
		}
		if len(up.asked) != 2 || up.served != 21 {
			t.Errorf("%d token calls, %d requests", len(up.asked), up.served)
		}
	})
}

// Also where a source calls 401 worth another try.
func TestRefusalIsNotRetriedWithTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &authority{}
		chain := StackSigned(up, grantSecrets, &turnstile{})
		if _, _, err := upon(t.Context(), chain, grantOf(t, nil)); err != nil {
			t.Fatal(err)
		}
		up.deny = func(string) bool { return true }
		call := call()
		call.Request.Credential, call.Request.CredentialRequired, call.Retry.RetryStatus = grantOf(t, nil), true, []int{401}
		call.Retry.InitialDelay, call.Retry.MaxDelay = duration.Duration(2*suspect), duration.Duration(2*suspect)
		if _, err := chain.Do(t.Context(), call); err == nil || len(up.asked) != 2 || up.served != 1+call.Retry.MaxAttempts+1 {
			t.Errorf("%v: %d token calls, %d requests", err, len(up.asked), up.served)
		}
	})
}

func TestRefreshTokensRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &authority{life: "60", rotates: true, refresh: "refresh-kanari-0"}
		secrets := vault{"env:ID": "client 1", "env:SECRET": canary, "env:REFRESH": "refresh-kanari-0"}
		chain := StackSigned(up, secrets, &turnstile{})
		for n := range 4 {
			call, response, err := upon(t.Context(), chain, grantOf(t, refreshing(t)))
			if err != nil {
				t.Fatalf("call %d: %v", n, err)
			}
			quiet(t, call, response, err)
			<-time.After(time.Minute)
		}
		for n, form := range up.asked {
			if form.Get("grant_type") != "refresh_token" || form.Get("refresh_token") != "refresh-kanari-"+string(rune('0'+n)) {
				t.Errorf("call %d: %v", n, form)
			}
		}
		// An operator puts another one there: it holds.
		secrets["env:REFRESH"], up.refresh = "refresh-by-hand", "refresh-by-hand"
		if _, _, err := upon(t.Context(), chain, grantOf(t, refreshing(t))); err != nil {
			t.Error(err)
		}
		// A new process knows the old one only, and says what to do.
		call, response, err := upon(t.Context(), StackSigned(up, grantSecrets, &turnstile{}), grantOf(t, refreshing(t)))
		if f := fault.As(err); f.Code != fault.Unauthorized || !strings.Contains(err.Error(), "put it where env:REFRESH leads") {
			t.Error(err)
		}
		quiet(t, call, response, err)
	})
}

// The new refresh token is in the answer: a worker that is stopped waits for it.
func TestRefreshIsNotCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &authority{life: "60", rotates: true, refresh: "refresh-kanari-0", takes: 10 * time.Second}
		chain := StackSigned(up, grantSecrets, &turnstile{})
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		if _, _, err := upon(ctx, chain, grantOf(t, refreshing(t))); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		<-time.After(time.Minute)
		if _, _, err := upon(t.Context(), chain, grantOf(t, refreshing(t))); err != nil || len(up.asked) != 2 {
			t.Errorf("%v after %d token calls", err, len(up.asked))
		}
	})
}

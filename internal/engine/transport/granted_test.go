package transport

import (
	"context"
	"encoding/base64"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// What a token endpoint answers decides what becomes of the request that waits.
func TestAnswersOfATokenEndpoint(t *testing.T) {
	const echo = "canary&kanari refresh-kanari-0 token-kanari-1 Y2xpZW50KzE6Y2FuYXJ5JTI2a2FuYXJp"
	page := `<html><title>Maintenance</title>` + echo
	for name, c := range map[string]struct {
		says  *exchange.Response
		calls int
		code  fault.Code // "" if the second answer helps
		text  string     // that explains it
	}{
		"wrong secret":         {answer(401, `{"error": "invalid_client", "error_description": "`+echo+`"}`), 1, fault.Unauthorized, "refused to give a token (invalid_client): check env:ID and env:SECRET"},
		"wrong secret as 400":  {answer(400, `{"error": "invalid_client"}`), 1, fault.Unauthorized, "invalid_client"},
		"wrong secret as 200":  {answer(200, `{"error": "invalid_client"}`), 1, fault.Unauthorized, "invalid_client"},
		"wrong scope":          {answer(400, `{"error": "invalid_scope"}`), 1, fault.Unauthorized, "invalid_scope"},
		"a reason of its own":  {answer(400, `{"error": "`+echo+`"}`), 1, fault.Unauthorized, "not in RFC 6749"},
		"forbidden":            {answer(403, page), 1, fault.Unauthorized, "not in RFC 6749"},
		"not there":            {answer(404, ""), 1, fault.Unauthorized, "token endpoint api.example.org/token"},
		"elsewhere":            {answer(302, "", "Location", "https://elsewhere.example/"), 1, fault.Unauthorized, ""},
		"JSON without a token": {answer(200, `{"token": "token-kanari-1"}`), 1, fault.Unauthorized, ""},
		"a token we know not":  {answer(200, `{"access_token": "token-kanari-1", "token_type": "mac"}`), 1, fault.Unauthorized, "declare its scheme as prefix"},
		"server error":         {answer(500, page), 2, "", ""},
		"unavailable":          {answer(503, echo, "Retry-After", "7"), 2, "", ""},
		"in trouble as 400":    {answer(400, `{"error": "temporarily_unavailable"}`), 2, "", ""},
		"throttled":            {answer(429, echo, "Retry-After", "7"), 2, "", ""},
		"throttled for long":   {answer(429, "", "Retry-After", "3600"), 1, fault.RateLimited, "asks to slow down"},
		"a page":               {answer(200, page), 2, "", ""},
		"a cut answer":         {answer(200, `{"access_token": "token-kanari`), 2, "", ""},
		"a token of two lines": {answer(200, `{"access_token": "token\nkanari"}`), 2, "", ""},
		"nothing":              {answer(200, ""), 2, "", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			up := &authority{says: func(n int) *exchange.Response { return map[bool]*exchange.Response{true: c.says}[n == 1] }}
			permits, began := &turnstile{}, time.Now()
			call, response, err := upon(t.Context(), StackSigned(up, grantSecrets, permits), grantOf(t, nil))
			if len(up.asked) != c.calls || (err == nil) != (c.code == "") || err != nil && fault.As(err).Code != c.code {
				t.Errorf("%s: %v after %d token calls; want %q after %d", name, err, len(up.asked), c.code, c.calls)
			}
			if err != nil && (!strings.Contains(err.Error(), c.text) || up.served != 0 || !fault.As(err).Unsent) {
				t.Errorf("%s: %v, %d requests", name, err, up.served)
			}
			if wait := c.says.Header.Get("Retry-After"); wait == "7" && time.Since(began) < 7*time.Second {
				t.Errorf("%s: waited %v", name, time.Since(began))
			}
			if strings.HasPrefix(name, "throttled") && (permits.feedback[0].RetryAfter == 0 || call.Notes.Throttled != 1) {
				t.Errorf("%s: the gate heard %+v, noted %+v", name, permits.feedback[0], call.Notes)
			}
			if name == "throttled for long" && fault.As(err).Wait != time.Hour {
				t.Errorf("%s: wait %v", name, fault.As(err).Wait)
			}
			if call.Notes.TokenCalls != c.calls || call.Notes.Request.URL == "" {
				t.Errorf("%s: noted %+v", name, call.Notes)
			}
			quiet(t, call, response, err)
		})
	}
}

// Many logins with a wrong password close an account: those who wait share one
// refusal, and those who come a little later hear the same.
func TestRefusalOfTheEndpointIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &authority{takes: time.Second, says: func(n int) *exchange.Response {
			return map[bool]*exchange.Response{true: answer(401, `{"error": "invalid_client"}`)}[n == 1]
		}}
		chain := StackSigned(up, grantSecrets, &turnstile{})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if _, _, err := upon(t.Context(), chain, grantOf(t, nil)); fault.As(err).Code != fault.Unauthorized {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if _, _, err := upon(t.Context(), chain, grantOf(t, nil)); err == nil || len(up.asked) != 1 {
			t.Errorf("%v after %d token calls", err, len(up.asked))
		}
		<-time.After(refusalKept)
		if _, _, err := upon(t.Context(), chain, grantOf(t, nil)); err != nil || len(up.asked) != 2 {
			t.Errorf("%v after %d token calls", err, len(up.asked))
		}
	})
}

// A token that cannot be had does not use up a paging token.
func TestTokenFailureKeepsThePagingToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &authority{says: func(n int) *exchange.Response { return map[bool]*exchange.Response{true: answer(500, "")}[n == 1] }}
		in := call()
		in.Request.Credential, in.Request.CredentialRequired, in.Request.Replayable = grantOf(t, nil), true, false
		if _, err := StackSigned(up, grantSecrets, &turnstile{}).Do(t.Context(), in); err != nil || up.served != 1 {
			t.Errorf("%v, %d requests", err, up.served)
		}
	})
}

func TestClientsIdentifyThemselves(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*exchange.Credential)
		header string
		form   string
	}{
		"in a header": {nil, "Basic " + base64.StdEncoding.EncodeToString([]byte("client+1:canary%26kanari")), "audience=works&grant_type=client_credentials&scope=read"},
		"in the form": {func(c *exchange.Credential) { c.ClientAuth = "BODY" }, "", "audience=works&client_id=client+1&client_secret=canary%26kanari&grant_type=client_credentials&scope=read"},
		"public": {func(c *exchange.Credential) { refreshing(t)(c); c.ClientSecret = exchange.Credential{}.Value }, "",
			"audience=works&client_id=client+1&grant_type=refresh_token&refresh_token=refresh-kanari-0&scope=read"},
	} {
		var header, body string
		up := &authority{}
		watch := sending(func(ctx context.Context, r *exchange.Request) (*exchange.Response, error) {
			if r.URL.Path == "/token" {
				header, body = r.Header.Get("Authorization"), string(r.Body)
			}
			return up.Send(ctx, r)
		})
		if _, _, err := upon(t.Context(), StackSigned(watch, grantSecrets, &turnstile{}), grantOf(t, c.change)); err != nil || header != c.header || body != c.form {
			t.Errorf("%s: %v\n%s\n%s", name, err, header, body)
		}
	}
}

type sending func(ctx context.Context, r *exchange.Request) (*exchange.Response, error)

func (s sending) Send(ctx context.Context, r *exchange.Request) (*exchange.Response, error) {
	return s(ctx, r)
}

// §3.6: without the secret an optional credential is left out, a required one
// stops the request; a token endpoint that is down makes nothing anonymous.
func TestAbsentSecretsOfAGrant(t *testing.T) {
	up := &authority{}
	in := call()
	in.Request.Credential, in.Request.CredentialRequired = grantOf(t, nil), true
	chain := StackSigned(up, vault{"env:ID": "x"}, &turnstile{})
	if _, err := chain.Do(t.Context(), in); fault.As(err).Code != fault.Unauthorized || !strings.Contains(err.Error(), "env:SECRET") || up.served+len(up.asked) != 0 {
		t.Errorf("%v, sent %d", err, up.served)
	}
	in.Request.CredentialRequired = false
	up.live = map[string]bool{"": true}
	if _, err := chain.Do(t.Context(), in); err != nil || up.served != 1 || len(up.asked) != 0 {
		t.Errorf("%v, sent %d", err, up.served)
	}
	up.says = func(int) *exchange.Response { return answer(500, "") }
	in.Retry.MaxAttempts = 1
	if _, err := StackSigned(up, grantSecrets, &turnstile{}).Do(t.Context(), in); fault.As(err).Code != fault.ServerError || up.served != 1 {
		t.Errorf("%v, sent %d", err, up.served)
	}
}

// D§5.22: secrets go nowhere but to the source or where the credential says.
func TestTokenEndpointIsNeverElsewhere(t *testing.T) {
	for _, address := range []string{"http://auth.example.org/token", "//elsewhere.example/token", "ftp://x/token", `/\elsewhere.example/token`, "https://u:p@x/token"} {
		up := &authority{}
		_, _, err := upon(t.Context(), StackSigned(up, grantSecrets, &turnstile{}), grantOf(t, func(c *exchange.Credential) { c.TokenURL = address }))
		if f := fault.As(err); f.Code != fault.Refused || len(up.asked)+up.served != 0 {
			t.Errorf("%s: %v, %d token calls", address, err, len(up.asked))
		}
	}
}

func TestSessions(t *testing.T) {
	base := exchange.Credential{Type: "SESSION", Username: ref(t, "env:USER"), Password: ref(t, "env:PASSWORD")}
	secrets := vault{"env:USER": `a"nn`, "env:PASSWORD": "ca nary&kanari"}
	json := exchange.Login{URL: "/login", Body: `{"user": "${username}", "password": ${password}}`, Token: path(t, "$.data.token")}
	form := exchange.Login{URL: "/login", Form: map[string]string{"u": "${username}", "p": "x${password}"}}
	with := func(l exchange.Login, change func(*exchange.Credential)) exchange.Credential {
		c := base
		c.Login = l
		if change != nil {
			change(&c)
		}
		return c.WithDefaults()
	}
	inHeader, inCookie := form, form
	inHeader.Header, inCookie.Cookie = "X-Session", "sid"
	for name, c := range map[string]struct {
		credential exchange.Credential
		says       *exchange.Response
		body       string
		carried    func(*exchange.Request) string
		want       string
	}{
		"from the body": {with(json, nil), answer(200, `{"data": {"token": "t-kanari"}}`), `{"user": "a\"nn", "password": "ca nary&kanari"}`, header("Authorization"), "Bearer t-kanari"},
		"under a name":  {with(json, func(c *exchange.Credential) { c.Name = "X-Auth" }), answer(201, `{"data": {"token": "t-kanari"}}`), `{"user": "a\"nn", "password": "ca nary&kanari"}`, header("X-Auth"), "t-kanari"},
		"to the query": {with(json, func(c *exchange.Credential) { c.In, c.Name = "QUERY", "sid" }), answer(200, `{"data": {"token": "t-kanari"}}`), `{"user": "a\"nn", "password": "ca nary&kanari"}`,
			func(r *exchange.Request) string { return r.URL.Query().Get("sid") }, "t-kanari"},
		"from a header": {with(inHeader, nil), answer(204, "", "X-Session", "t-kanari"), "p=xca+nary%26kanari&u=a%22nn", header("X-Session"), "t-kanari"},
		"from a cookie": {with(inCookie, nil), answer(200, "<html>", "Set-Cookie", `sid="t-kanari"; Path=/; HttpOnly`), "p=xca+nary%26kanari&u=a%22nn", header("Cookie"), "sid=t-kanari"},
	} {
		var body, carried string
		up := sending(func(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
			if r.URL.Path == "/login" {
				body = string(r.Body)
				return c.says, nil
			}
			carried = c.carried(r)
			return answer(200, "welcome, t-kanari"), nil
		})
		call, response, err := upon(t.Context(), StackSigned(up, secrets, &turnstile{}), c.credential)
		if err != nil || body != c.body || carried != c.want {
			t.Errorf("%s: %v, logged in with %s, sent %q", name, err, body, carried)
		}
		quiet(t, call, response, err)
		if problems := c.credential.Complaints(); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// Sessions end by what the answer says, by what the source says, and when a
// declared status says so.
func TestSessionsEnd(t *testing.T) {
	c := exchange.Credential{Type: "SESSION", Value: ref(t, "env:SECRET"), RenewOn: []int{403, 440}, Login: exchange.Login{
		URL: "/login", Form: map[string]string{"key": "${value}"}, Token: path(t, "$.token"), ExpiresIn: path(t, "$.seconds"), Lifetime: duration.Duration(time.Hour),
	}}.WithDefaults()
	synctest.Test(t, func(t *testing.T) {
		logins, status, said := 0, 200, `{"token": "t-kanari", "seconds": 100}`
		up := sending(func(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
			if r.URL.Path == "/login" {
				logins++
				return answer(200, said), nil
			}
			defer func() { status = 200 }()
			return answer(status, ""), nil
		})
		chain := StackSigned(up, grantSecrets, &turnstile{})
		ask := func(after time.Duration, want int) {
			t.Helper()
			<-time.After(after)
			if _, _, err := upon(t.Context(), chain, c); err != nil || logins != want {
				t.Errorf("%v after %d logins, want %d", err, logins, want)
			}
		}
		ask(0, 1)
		ask(89*time.Second, 1)
		said = `{"token": "t-kanari"}`
		ask(time.Second, 2)
		ask(time.Hour-margin-time.Second, 2)
		ask(time.Second, 3)
		for i, refusal := range []int{403, 440} {
			status = refusal
			ask(0, 4+i)
		}
		status = 401 // not declared: a person has to act
		if _, _, err := upon(t.Context(), chain, c); fault.As(err).Code != fault.Unauthorized || logins != 5 {
			t.Errorf("%v after %d logins", err, logins)
		}
	})
}

func TestLoginsThatFail(t *testing.T) {
	c := exchange.Credential{Type: "SESSION", Value: ref(t, "env:SECRET"), Login: exchange.Login{URL: "/login", Form: map[string]string{"key": "${value}"}, Token: path(t, "$.token")}}.WithDefaults()
	for name, tc := range map[string]struct {
		says  *exchange.Response
		code  fault.Code
		calls int
	}{
		"refused":       {answer(403, "wrong: canary&kanari"), fault.Unauthorized, 1},
		"politely":      {answer(200, `{"error": "canary&kanari"}`), fault.Unauthorized, 1},
		"null":          {answer(200, `{"token": null}`), fault.Unauthorized, 1},
		"a page":        {answer(200, "<html>canary&kanari"), fault.BadBody, 5},
		"trouble":       {answer(502, "canary&kanari"), fault.ServerError, 5},
		"two of a kind": {answer(200, `{"token": "akanari", "token": "bkanari"}`), fault.BadBody, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			up := sending(func(context.Context, *exchange.Request) (*exchange.Response, error) { calls++; return tc.says, nil })
			call, response, err := upon(t.Context(), StackSigned(up, grantSecrets, &turnstile{}), c)
			if fault.As(err).Code != tc.code || calls != tc.calls {
				t.Errorf("%s: %v after %d calls", name, err, calls)
			}
			quiet(t, call, response, err)
		})
	}
}

// gossip gives tokens, and tells with every answer what it was ever sent.
type gossip struct {
	authority
	knows string
}

func (g *gossip) Send(ctx context.Context, r *exchange.Request) (*exchange.Response, error) {
	response, err := g.authority.Send(ctx, r)
	if err == nil && r.URL.Path != "/token" {
		response.Body = append(response.Body, g.knows...)
		response.Header.Set("X-Debug", g.knows)
	}
	return response, err
}

// A34: a source that gave a token knows what it was given for; that is hidden in
// its answers although the request did not carry it.
func TestWhatATokenWasGotWithIsHidden(t *testing.T) {
	for name, change := range map[string]func(*exchange.Credential){"client": nil, "refresh": refreshing(t)} {
		up := &gossip{knows: "canary&kanari canary%26kanari Y2FuYXJ5JmthbmFyaQ=="}
		if name == "refresh" {
			up.knows += " refresh-kanari-0"
		}
		call, response, err := upon(t.Context(), StackSigned(up, grantSecrets, &turnstile{}), grantOf(t, change))
		if err != nil || !strings.Contains(response.Header.Get("X-Debug"), "[secret]") {
			t.Fatalf("%s: %+v %v", name, response, err)
		}
		quiet(t, call, response, err)
	}
}

// §14.2: a token call says who asks and for which request, and nothing else of it.
func TestTokenCallsCarryTheCorrelation(t *testing.T) {
	up, in := &authority{}, call()
	in.Request.Credential, in.Request.CredentialRequired = grantOf(t, nil), true
	in.Request.Header.Set("X-Ingest-Correlation-Id", "ing-7-1")
	in.Request.Header.Set("User-Agent", "us (mailto:ann@example.org)")
	in.Request.Header.Set("X-Own", "of the request")
	var asked exchange.Header
	watch := sending(func(ctx context.Context, r *exchange.Request) (*exchange.Response, error) {
		if r.URL.Path == "/token" {
			asked = r.Header
		}
		return up.Send(ctx, r)
	})
	if _, err := StackSigned(watch, grantSecrets, &turnstile{}).Do(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if asked.Get("X-Ingest-Correlation-Id") != "ing-7-1" || asked.Get("User-Agent") != "us (mailto:ann@example.org)" || asked.Get("X-Own") != "" {
		t.Errorf("the token call had %v", asked)
	}
}

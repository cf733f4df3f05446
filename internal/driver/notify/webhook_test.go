package notify

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/driver/hook"
)

// receiver is a server with TLS that keeps what comes.
type receiver struct {
	*httptest.Server
	CA string

	mu      sync.Mutex
	status  int
	says    string
	bodies  []string
	headers http.Header
	query   map[string][]string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{status: http.StatusOK}
	r.Server = httptest.NewTLSServer(r)
	t.Cleanup(r.Close)
	r.CA = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(r.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies, r.headers, r.query = append(r.bodies, string(body)), q.Header, q.URL.Query()
	w.Header().Set("Location", "https://elsewhere.example/"+canary)
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, r.says)
}

func (r *receiver) answers(status int, says string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.says = status, says
}

var secretsOfWebhooks = map[string]string{"env:SECRET": canary, "env:OLD": "the-canary-that-was-known-before"}

func (r *receiver) webhook(t *testing.T, body string, refs ...string) alert.Receiver {
	w := &alert.Webhook{URL: r.URL + "/hook?key=" + canary, Body: body, CA: r.CA, AllowPrivate: true}
	for _, ref := range refs {
		w.Secret = append(w.Secret, reference(t, ref))
	}
	return alert.Receiver{Webhook: w}
}

func TestAWebhookIsSignedWithAllSecrets(t *testing.T) {
	r := newReceiver(t)
	s := open(t, r.webhook(t, "", "env:SECRET", "env:OLD"), behind(secretsOfWebhooks))
	for range 2 { // what is sent twice has the same id
		if err := s.Send(t.Context(), firing()); err != nil {
			t.Fatal(err)
		}
	}
	want := hook.Sign([]byte(canary), "msg-1", night, []byte(r.bodies[0])) + " " + hook.Sign([]byte(secretsOfWebhooks["env:OLD"]), "msg-1", night, []byte(r.bodies[0]))
	if got := r.headers.Get("Webhook-Signature"); got != want || r.headers.Get("Webhook-Id") != "msg-1" || r.headers.Get("Webhook-Timestamp") != "1742439600" {
		t.Errorf("%v, want %s", r.headers, want)
	}
	var got alert.Message
	if err := json.Unmarshal([]byte(r.bodies[1]), &got); err != nil || !reflect.DeepEqual(got, firing()) || r.bodies[0] != r.bodies[1] {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBodiesOfChats(t *testing.T) {
	r := newReceiver(t)
	for _, c := range []struct{ body, says, want string }{
		{alert.Slack, "ok", `{"text":"CRITICAL crossref/works: paused since 2025-03-20 02:10Z: the key was refused &lt;!channel&gt; &amp; &lt;at user_id=`},
		{alert.DingTalk, `{"errcode":0,"errmsg":"ok"}`, `{"msgtype":"text","text":{"content":"CRITICAL crossref/works: paused`},
		{alert.Feishu, `{"code":0,"msg":"success"}`, `{"msg_type":"post","content":{"post":{"en_us":{"title":"CRITICAL crossref/works: paused`},
	} {
		r.answers(http.StatusOK, c.says)
		if err := open(t, r.webhook(t, c.body), behind(nil)).Send(t.Context(), firing()); err != nil {
			t.Errorf("%s: %v", c.body, err)
		}
		got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(r.bodies[len(r.bodies)-1])
		if !strings.HasPrefix(got, c.want) || !strings.Contains(got, "`patra source resume crossref`") {
			t.Errorf("%s: %s", c.body, got)
		}
		if r.headers.Get("Webhook-Signature") != "" {
			t.Errorf("%s: signed for somebody who does not check it", c.body)
		}
	}
}

// The signatures were computed apart, by openssl, from what the services describe.
func TestSignaturesOfChats(t *testing.T) {
	r := newReceiver(t)
	r.answers(http.StatusOK, `{"errcode":0,"code":0}`)
	if err := open(t, r.webhook(t, alert.DingTalk, "env:SECRET"), behind(map[string]string{"env:SECRET": "SECabc"})).Send(t.Context(), firing()); err != nil {
		t.Fatal(err)
	}
	if r.query["timestamp"][0] != "1742439600000" || r.query["sign"][0] != "LDOak+ZeGTNGTzh+fhggaRyuH2Zutv+nJjrXaoQ+8AU=" || r.query["key"][0] != canary {
		t.Errorf("%v", r.query)
	}
	if err := open(t, r.webhook(t, alert.Feishu, "env:SECRET"), behind(map[string]string{"env:SECRET": "abc"})).Send(t.Context(), firing()); err != nil {
		t.Fatal(err)
	}
	if got := r.bodies[1]; !strings.HasPrefix(got, `{"timestamp":"1742439600","sign":"1h1oVepH0L8de+3eVReB9ez7ZTpj5cbfYB8RPyo11Es=",`) {
		t.Error(got)
	}
}

func TestWhatStaysWrongIsToldFromWhatMayPass(t *testing.T) {
	r := newReceiver(t)
	s := open(t, r.webhook(t, "", "env:SECRET"), behind(secretsOfWebhooks))
	for status, refused := range map[int]bool{302: false, 400: true, 401: true, 404: true, 408: false, 410: true, 413: true, 429: false, 500: false, 503: false} {
		r.answers(status, canary)
		err := s.Send(t.Context(), firing())
		if err == nil || errors.Is(err, alert.ErrRefused) != refused || !strings.Contains(err.Error(), "ops") {
			t.Errorf("status %d: %v", status, err)
		}
		holdsNoSecret(t, err)
	}
	for says, refused := range map[string]bool{
		`{"errcode":310000,"errmsg":"canary"}`: true, `{"code":19021,"msg":"canary"}`: true, `{"StatusCode":9999}`: true, `{"errcode":130101}`: false, `{"code":11232}`: false, "canary": false, "{}": false,
	} {
		r.answers(http.StatusOK, says)
		err := open(t, r.webhook(t, alert.DingTalk), behind(nil)).Send(t.Context(), firing())
		if err == nil || errors.Is(err, alert.ErrRefused) != refused {
			t.Errorf("%s: %v", says, err)
		}
		holdsNoSecret(t, err)
	}
}

// An address behind a reference is held to the rules of one in the file, and nothing of
// it is told.
func TestTheAddressMayBeASecret(t *testing.T) {
	r := newReceiver(t)
	for address, good := range map[string]bool{
		r.URL + "/" + canary: true, "http://far.example/" + canary: false, "https://me:" + canary + "@far.example/": false, canary: false, "": false,
	} {
		w := &alert.Webhook{URL: "env:URL", Secret: []secret.Ref{reference(t, "env:SECRET")}, CA: r.CA, AllowPrivate: true}
		values := map[string]string{"env:SECRET": canary}
		if address != "" {
			values["env:URL"] = address
		}
		err := open(t, alert.Receiver{Webhook: w}, behind(values)).Send(t.Context(), firing())
		if (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
		holdsNoSecret(t, err)
	}
}

func TestNothingIsSentThatShouldNot(t *testing.T) {
	r := newReceiver(t)
	private := r.webhook(t, "", "env:SECRET")
	private.Webhook.AllowPrivate = false
	unknown := r.webhook(t, "", "env:SECRET")
	unknown.Webhook.CA = ""
	for name, c := range map[string]struct {
		r      alert.Receiver
		values map[string]string
		says   string
	}{
		"to this machine":      {private, secretsOfWebhooks, "allowPrivate"},
		"to a stranger":        {unknown, secretsOfWebhooks, "not signed by an authority"},
		"with a short key":     {r.webhook(t, "", "env:SECRET"), map[string]string{"env:SECRET": "canary"}, "24"},
		"without its key":      {r.webhook(t, "", "env:SECRET"), nil, "env:SECRET"},
		"without a signature":  {r.webhook(t, ""), nil, "there is none"},
		"without the old key":  {r.webhook(t, "", "env:SECRET", "env:OLD"), map[string]string{"env:SECRET": canary}, "env:OLD"},
		"without a chat's key": {r.webhook(t, alert.Feishu, "env:SECRET"), nil, "env:SECRET"},
	} {
		err := open(t, c.r, behind(c.values)).Send(t.Context(), firing())
		if err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, alert.ErrRefused) || len(r.bodies) > 0 {
			t.Errorf("%s: %v", name, err)
		}
		holdsNoSecret(t, err)
	}
	if _, err := Open("ops", alert.Receiver{Webhook: &alert.Webhook{CA: "/nowhere"}}, Options{}); err == nil {
		t.Error("a file that is not there is no trouble")
	}
}

func TestAWebhookEndsWithItsContext(t *testing.T) {
	r := newReceiver(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := open(t, r.webhook(t, "", "env:SECRET"), behind(secretsOfWebhooks)).Send(ctx, firing()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patra-ingest/patra/internal/upsim"
)

// Data of a person that upstreams send.
const (
	personsAddress = "canary.person@personal.example"
	personsNumber  = "+49 151 55501234"
)

// echoing is an upstream that repeats what it was asked with: in error pages, in
// redirects, in answers that are good, in every coding.
type echoing struct {
	inner   *upsim.Server
	known   []string // what it can tell even if a request does not carry it
	faults  atomic.Bool
	refuses atomic.Bool // every credential
	broken  atomic.Bool // it answers nothing but errors
	badDate atomic.Bool // the next page has an item with a person for a date
	revoked sync.Once   // all tokens

	mu      sync.Mutex
	n       int
	echoes  map[string]int
	secrets map[string]bool // everything that came as a credential, or was given out as one
	arrived chan struct{}   // closed at the next request
}

func newEchoing(inner *upsim.Server, known ...string) *echoing {
	e := &echoing{inner: inner, known: known, echoes: map[string]int{}, secrets: map[string]bool{}, arrived: make(chan struct{})}
	e.faults.Store(true)
	return e
}

func (e *echoing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	values := append(credentialsOf(r, body), e.known...)
	redirected := r.URL.Query().Has("again")
	n := e.arrives(values, redirected)
	if !e.faults.Load() || redirected && !e.refuses.Load() {
		e.pass(w, r, values)
		return
	}
	if e.refuses.Load() {
		e.tell(w, "401", http.StatusUnauthorized, "text/html", page(values))
		return
	}
	if e.broken.Load() {
		e.tell(w, "error-200", http.StatusOK, "application/json", `{"error":`+inJSON(values)+`}`)
		return
	}
	how := n % 8
	if !strings.Contains(r.URL.Path, "/forms/") && how >= 5 {
		how = 1 // a login that is refused politely stops the source
	}
	switch how {
	case 1:
		if e.told("503") > e.told("encoding") { // in the place of a word that an error might repeat
			w.Header().Set("Content-Encoding", values[0])
			e.tell(w, "encoding", http.StatusOK, "application/json", page(values))
			return
		}
		w.Header().Set("X-Ratelimit-Limit", strings.Join(values, " ")+" "+mixed(values[0], 1, 1))
		e.tell(w, "503", http.StatusServiceUnavailable, "text/plain", page(values))
	case 3:
		e.tell(w, "500", http.StatusInternalServerError, "application/json", `{"error":`+inJSON(values)+`}`)
	case 6:
		if r.Method == http.MethodGet && r.Header.Get("X-Signature") == "" && r.Header.Get("X-Amz-Date") == "" {
			w.Header().Set("Location", r.URL.EscapedPath()+"?"+r.URL.RawQuery+"&again=1")
			e.tell(w, "302", http.StatusFound, "text/plain", page(values))
			return
		}
		e.pass(w, r, values)
	case 5:
		e.tell(w, "error-200", http.StatusOK, "application/json", `{"error":`+inJSON(values)+`}`)
	case 4:
		e.revoked.Do(e.inner.RevokeTokens)
		e.cut(w, values)
	case 7:
		<-time.After(5 * time.Millisecond) // it is slow
		e.pass(w, r, values)
	default:
		e.pass(w, r, values)
	}
}

// arrives keeps the credentials of a request and gives its number. A redirected
// one has none of its own: among workers its second arrival could otherwise fall
// on the turn of the same fault again and again, and that fault never be told.
func (e *echoing) arrives(values []string, redirected bool) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !redirected {
		e.n++
	}
	for _, v := range values {
		e.secrets[v] = true
	}
	close(e.arrived)
	e.arrived = make(chan struct{})
	return e.n
}

func (e *echoing) tell(w http.ResponseWriter, how string, status int, kind, text string) {
	e.mu.Lock()
	e.echoes[how]++
	e.mu.Unlock()
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// told is how often it was told something in a way.
func (e *echoing) told(how string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.echoes[how]
}

// cut ends the connection in the middle of a secret.
func (e *echoing) cut(w http.ResponseWriter, values []string) {
	e.mu.Lock()
	e.echoes["cut"]++
	e.mu.Unlock()
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	text := strings.Join(values, "")
	fmt.Fprintf(conn, "HTTP/1.1 500 Oops %s\r\nContent-Length: 100000\r\n\r\n%s", text[:len(text)/2], text[:len(text)*2/3])
}

// pass lets the simulator answer, and puts the echo into a page that is good.
func (e *echoing) pass(w http.ResponseWriter, r *http.Request, values []string) {
	query := r.URL.Query()
	if query.Has("again") {
		query.Del("again")
		r.URL.RawQuery = query.Encode()
	}
	r.Header.Del("Accept-Encoding")
	kept := httptest.NewRecorder()
	e.inner.ServeHTTP(kept, r)
	text := kept.Body.Bytes()
	if !strings.Contains(r.URL.Path, "/forms/") {
		e.issued(text)
	} else if kept.Code == http.StatusOK && bytes.HasPrefix(text, []byte("{")) {
		echo := inJSON(values)
		text = bytes.Replace(text, []byte("{"), []byte(`{"echo":`+echo+`,`), 1)
		text = bytes.Replace(text, []byte(`{"id":`), []byte(`{"note":`+echo+`,"id":`), 1)
		if bytes.Contains(text, []byte(`"updated":"`)) && e.badDate.CompareAndSwap(true, false) {
			text = bytes.Replace(text, []byte(`"updated":"`), []byte(`"updated":"`+personsAddress+` `+personsNumber+` `), 1)
		}
		e.mu.Lock()
		e.echoes["200"]++
		e.mu.Unlock()
	}
	for name, list := range kept.Header() {
		w.Header()[name] = list
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(kept.Code)
	_, _ = w.Write(text)
}

// issued notes the tokens of an answer.
func (e *echoing) issued(text []byte) {
	var given struct {
		Access  string `json:"access_token"`
		Session string `json:"session"`
		Refresh string `json:"refresh_token"`
	}
	if json.Unmarshal(text, &given) != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, v := range []string{given.Access, given.Session, given.Refresh} {
		if v != "" {
			e.secrets[v] = true
		}
	}
}

// credentialsOf are all values of a request that may be a credential.
func credentialsOf(r *http.Request, body []byte) (out []string) {
	if _, password, ok := r.BasicAuth(); ok {
		if r.URL.Path == "/oauth/token" { // both parts are encoded as in a form
			password, _ = url.QueryUnescape(password)
		}
		out = append(out, password)
	} else if sent := r.Header.Get("Authorization"); sent != "" {
		_, value, _ := strings.Cut(sent, " ")
		if _, signature, signed := strings.Cut(value, ", Signature="); signed { // what stands before it says which key it is, and when and where it is good
			value = signature
		}
		out = append(out, value)
	}
	for _, name := range []string{"X-Api-Key", "X-Session-Token", "X-Amz-Security-Token"} {
		if sent := r.Header.Get(name); sent != "" {
			out = append(out, sent)
		}
	}
	if cookie, err := r.Cookie("session"); err == nil {
		out = append(out, cookie.Value)
	}
	fields, _ := url.ParseQuery(string(body))
	var object map[string]any
	if json.Unmarshal(body, &object) == nil {
		for name, value := range object {
			fields.Set(name, fmt.Sprint(value))
		}
	}
	for _, name := range []string{"api_key", "password", "client_secret", "refresh_token", "assertion", "client_assertion"} {
		for _, sent := range []string{r.URL.Query().Get(name), fields.Get(name)} {
			if sent != "" {
				out = append(out, sent)
			}
		}
	}
	return out
}

// pages counts what was told, so that no two mix the spellings in the same way.
var pages atomic.Uint64

// page tells values as an error page might, in all spellings there are.
func page(values []string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "<html>Not for %s, tel. %s. ", personsAddress, personsNumber)
	for _, v := range values {
		fmt.Fprintf(&out, "key %s %s %s ", v, strings.Join(ordinary(v), " "), mixed(v, pages.Add(1), 1))
	}
	return out.String()
}

// inJSON tells them inside a JSON text: with escapes that become the value itself
// when somebody reads it, and with escapes of escapes.
func inJSON(values []string) string {
	text, _ := json.Marshal(page(values)) // a text always encodes
	out := strings.TrimSuffix(string(text), `"`)
	for _, v := range values {
		n := pages.Add(1)
		out += " " + strings.Join(ordinary(v), " ") + " " + mixed(v, n, 1+int(n%3))
	}
	return out + `"`
}

func asEscapes(value string) string {
	var out strings.Builder
	for _, r := range value {
		fmt.Fprintf(&out, `\u%04x`, r)
	}
	return out.String()
}

package upsim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestStatusFaults(t *testing.T) {
	for kind, status := range map[FaultKind]int{Fault429: 429, Fault500: 500, Fault502: 502, Fault503: 503, Fault504: 504, FaultHTML200: 200} {
		s := serve(t, month(nil), Options{Faults: []Fault{{Kind: kind, To: 1}}})
		resp, body, err := ask(oneShot(t), s, "/works", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != status || resp.Header.Get("Content-Type") != "text/html" || !bytes.HasPrefix(body, []byte("<html>")) {
			t.Errorf("%s: %d %s %s", kind, resp.StatusCode, resp.Header.Get("Content-Type"), body)
		}
		if resp.Header.Get("Retry-After") != "" || resp.Header.Get("X-Rate-Limit-Limit") != "" {
			t.Errorf("%s: %v", kind, resp.Header)
		}
		if e := s.Log()[0]; e.Fault != string(kind) || e.Status != status || e.Items != 0 {
			t.Errorf("%s: logged %+v", kind, e)
		}
		askList(t, oneShot(t), s)
	}
}

func TestErrorEnvelopeWithStatus200(t *testing.T) {
	s := serve(t, month(nil), Options{Faults: script(t, "error-200@1")})
	resp, body, err := ask(oneShot(t), s, "/works", nil)
	var got struct{ Status string }
	if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" || json.Unmarshal(body, &got) != nil || got.Status != "error" {
		t.Errorf("%v %v %s", resp, err, body)
	}
}

func TestRetryAfter(t *testing.T) {
	const date = "Wed, 21 Oct 2026 07:28:00 GMT"
	s := serve(t, month(nil), Options{Faults: script(t, "429@1:retry-after=7;503@2:retry-after="+date+";429@3:retry-after=date+1h")})
	for i, want := range []string{"7", date} {
		resp, _, err := ask(oneShot(t), s, "/works", nil)
		if err != nil || resp.Header.Get("Retry-After") != want {
			t.Errorf("request %d: %v %v", i+1, resp, err)
		}
	}
	before := time.Now()
	resp, _, err := ask(oneShot(t), s, "/works", nil)
	if err != nil {
		t.Fatal(err)
	}
	at, err := http.ParseTime(resp.Header.Get("Retry-After"))
	if err != nil || at.Before(before.Add(time.Hour-time.Second)) || at.After(time.Now().Add(time.Hour)) {
		t.Errorf("date in an hour is %s: %v", resp.Header.Get("Retry-After"), err)
	}
}

// The faults that break the connection: the client gets an error, never a body
// that looks whole, and the scroll walk moves on, so that a blind retry would
// miss the page.
func TestBrokenConnections(t *testing.T) {
	isReset := func(err error) bool {
		return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF)
	}
	isCut := func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }
	isClosed := func(err error) bool { return errors.Is(err, io.EOF) }
	tests := []struct {
		kind     FaultKind
		matches  func(error) bool
		response bool // the head of the answer arrives
		status   int
	}{
		{FaultReset, isReset, true, 200},
		{FaultTruncateGzip, isCut, true, 200},
		{FaultLostAnswer, isClosed, false, 0},
	}
	for _, tt := range tests {
		d := month(nil)
		s := serve(t, d, Options{Faults: []Fault{{Kind: tt.kind, Page: 2, Times: 1}}})
		c, truth := oneShot(t), d.Truth()
		pairs := []string{"rows", "100", "sort", "indexed", "order", "asc", "cursor"}
		cursor := askList(t, c, s, append(pairs, "*")...).cursor(t)
		resp, body, err := ask(c, s, "/works", query(append(pairs, cursor)...))
		if err == nil || !tt.matches(err) {
			t.Errorf("%s: client sees %v", tt.kind, err)
		}
		if !tt.response && resp != nil {
			t.Errorf("%s: a head arrived", tt.kind)
		}
		if json.Valid(body) && len(body) > 0 {
			t.Errorf("%s: the body is whole", tt.kind)
		}
		if e := s.Log()[1]; e.Fault != string(tt.kind) || e.Status != tt.status || e.Items != 100 {
			t.Errorf("%s: logged %+v", tt.kind, e)
		}
		after := askList(t, c, s, append(pairs, cursor)...)
		if doiOf(t, after.Message.Items[0]) != truth[200].DOI {
			t.Errorf("%s: the walk did not move on", tt.kind)
		}
	}
}

func TestResetIsARealReset(t *testing.T) {
	s := serve(t, month(nil), Options{Faults: script(t, "reset@1")})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /works HTTP/1.1\r\nHost: sim\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection ended with %v", err)
	}
}

// Nothing but the JSON itself tells that this body is cut.
func TestTruncatedJSONEndsCleanly(t *testing.T) {
	s := serve(t, month(nil), Options{Faults: script(t, "truncate-json@1")})
	resp, body, err := ask(oneShot(t), s, "/works", query("rows", "100"))
	if err != nil || resp.StatusCode != 200 || resp.ContentLength != -1 || len(body) < 1000 || json.Valid(body) {
		t.Errorf("%v, length %d, %d bytes, valid %v", err, resp.ContentLength, len(body), json.Valid(body))
	}
}

func TestTruncatedGzipWithoutGzipIsTruncatedJSON(t *testing.T) {
	s := serve(t, month(nil), Options{Faults: script(t, "truncate-gzip@1")})
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	_, body, err := ask(c, s, "/works", nil)
	if err != nil || json.Valid(body) || !bytes.HasPrefix(body, []byte(`{"status"`)) {
		t.Errorf("%v %s", err, body)
	}
}

// Go's transport repeats a GET on its own when a kept connection dies before
// the first byte. With a scroll cursor the page is then gone without a trace;
// the log shows it.
func TestLostAnswerOnAKeptConnection(t *testing.T) {
	d := month(nil)
	s := serve(t, d, Options{Faults: script(t, "lost-answer@page:2:times=1")})
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	got := walkAll(t, c, s, "100")
	if len(got) != d.Len()-100 {
		t.Errorf("walk gave %d of %d", len(got), d.Len())
	}
	lost := 0
	for _, e := range s.Log() {
		if e.Fault == string(FaultLostAnswer) {
			lost += e.Items
		}
	}
	if lost != 100 {
		t.Errorf("the log shows %d lost works", lost)
	}
}

func TestFaultsThatSendNoPageLeaveTheWalkAlone(t *testing.T) {
	for _, advance := range []bool{false, true} {
		for _, kind := range []FaultKind{Fault429, Fault504, FaultHTML200, FaultError200, FaultEmpty200} {
			d := month(nil)
			s := serve(t, d, Options{Faults: []Fault{{Kind: kind, Page: 2, Times: 1, Advance: advance}}})
			c := oneShot(t)
			cursor := askList(t, c, s, "rows", "100", "cursor", "*").cursor(t)
			if _, _, err := ask(c, s, "/works", query("rows", "100", "cursor", cursor)); err != nil {
				t.Fatal(err)
			}
			got := 100
			for range 100 {
				n := len(askList(t, c, s, "rows", "100", "cursor", cursor).Message.Items)
				if got += n; n < 100 {
					break
				}
			}
			want := d.Len()
			if advance {
				want -= 100
			}
			if got != want {
				t.Errorf("%s, advance %v: walk gave %d, want %d", kind, advance, got, want)
			}
		}
	}
}

func TestDuplicatePage(t *testing.T) {
	for _, mode := range []CursorMode{ScrollCursor, ReplayableCursor} {
		d := month(nil)
		s := serve(t, d, Options{Cursor: mode, Faults: script(t, "duplicate-page@1-2;duplicate-page@4")})
		c := oneShot(t)
		var pages [][]string
		cursor := "*"
		for range 6 {
			e := askList(t, c, s, "rows", "300", "cursor", cursor)
			pages = append(pages, dois(t, e))
			cursor = e.cursor(t)
		}
		// Request 1 has no page before it and is served plainly.
		if !slices.Equal(pages[0], pages[1]) || slices.Equal(pages[1], pages[2]) || !slices.Equal(pages[2], pages[3]) {
			t.Errorf("mode %d: pages 1 and 2, and 3 and 4, are to be the same", mode)
		}
		for i, want := range []string{"", "duplicate-page", "", "duplicate-page", "", ""} {
			if got := s.Log()[i].Fault; got != want {
				t.Errorf("mode %d: request %d logged as %q, want %q", mode, i+1, got, want)
			}
		}
		seen := map[string]bool{}
		for _, doi := range slices.Concat(append(pages, dois(t, askList(t, c, s, "rows", "300", "cursor", cursor)))...) {
			seen[doi] = true
		}
		if len(seen) != d.Len() {
			t.Errorf("mode %d: %d of %d works seen", mode, len(seen), d.Len())
		}
	}
}

func TestExpireCursor(t *testing.T) {
	s := serve(t, month(nil), Options{Faults: script(t, "expire-cursor@page:2:times=1")})
	c := oneShot(t)
	cursor := askList(t, c, s, "cursor", "*").cursor(t)
	for range 2 {
		if resp, body, err := ask(c, s, "/works", query("cursor", cursor)); err != nil || resp.StatusCode != 404 || !bytes.Contains(body, []byte("cursor-invalid")) {
			t.Errorf("%v %v %s", resp, err, body)
		}
	}
	if got := walkAll(t, c, s, "500"); len(got) != 1240 {
		t.Errorf("a new walk gave %d", len(got))
	}
}

func TestAlteredItems(t *testing.T) {
	d := month(func(c *Config) { c.BadIDEvery = 3 })
	s := serve(t, d, Options{Faults: script(t, "missing-id@2;bad-date@4;missing-id@every:5")})
	got := walkAll(t, oneShot(t), s, "100", "sort", "indexed", "order", "asc")
	altered := map[string]string{}
	for _, a := range s.Altered() {
		altered[a.DOI] = a.Bad
		if w, ok := d.Lookup(a.DOI); !ok || w.Bad != Sound || !w.Indexed.Equal(a.Indexed) || w.Version != a.Version {
			t.Errorf("noted %+v, truth %+v", a, w)
		}
	}
	if len(altered) != 4 { // requests 2, 4, 5, 10 of 13
		t.Errorf("altered %v", s.Altered())
	}
	for i, w := range d.Truth() {
		want := w.JSON
		if bad, ok := altered[w.DOI]; ok {
			it, _ := d.lookUpDOI(w.DOI)
			want = d.appendWork(nil, it, bad)
			if bytes.Equal(want, w.JSON) {
				t.Errorf("%s is not broken", w.DOI)
			}
		}
		if !bytes.Equal(got[i], want) {
			t.Errorf("%s served as %s", w.DOI, got[i])
		}
	}

	empty := serve(t, d, Options{Faults: script(t, "missing-id@*")})
	askList(t, oneShot(t), empty, "filter", "from-index-date:2030")
	if e := empty.Log()[0]; e.Fault != "" || len(empty.Altered()) != 0 {
		t.Errorf("an empty page was altered: %+v", e)
	}
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewServer(month(nil), Options{Faults: script(t, "slow@1:delay=3s;slow@1:delay=1s;500@1:delay=1s")})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if rec := askBare(s, nil); rec.Code != 500 || time.Since(begin) != 5*time.Second || s.Log()[0].Fault != "slow+slow+500" {
			t.Errorf("status %d after %s, %+v", rec.Code, time.Since(begin), s.Log()[0])
		}
	})
}

func TestSlowEndsWhenTheClientGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewServer(month(nil), Options{Faults: script(t, "slow@page:2:delay=1h:times=1")})
		if err != nil {
			t.Fatal(err)
		}
		first := askBare(s, query("cursor", "*"))
		cursor := bareCursor(t, first)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		begin := time.Now()
		target := "/works?" + query("cursor", cursor).Encode()
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, target, nil).WithContext(ctx))
		if e := s.Log()[1]; time.Since(begin) != 2*time.Second || e.Status != 499 || e.Fault != "slow" {
			t.Errorf("%+v after %s", e, time.Since(begin))
		}
		if again := askBare(s, query("cursor", cursor)); again.Code != 200 || strings.Contains(again.Body.String(), `"items":[]`) {
			t.Errorf("%d %s", again.Code, again.Body)
		}
	})
}

func TestSetFaults(t *testing.T) {
	s := serve(t, month(nil), Options{Faults: script(t, "500@*")})
	if resp, _, _ := ask(oneShot(t), s, "/works", nil); resp.StatusCode != 500 {
		t.Errorf("status %d", resp.StatusCode)
	}
	if err := s.SetFaults([]Fault{{Kind: "nonsense"}}); err == nil {
		t.Error("a fault of no kind was taken")
	}
	if err := s.SetFaults(nil); err != nil {
		t.Fatal(err)
	}
	askList(t, oneShot(t), s)
	if _, err := NewServer(month(nil), Options{Faults: []Fault{{Kind: FaultSlow}}}); err == nil {
		t.Error("a slow fault without delay was taken")
	}
}

package upsim

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func dois(t testing.TB, e envelope) []string {
	var all []string
	for _, w := range e.Message.Items {
		all = append(all, doiOf(t, w))
	}
	return all
}

func TestScrollCursorIsOneTextWithThePositionInTheServer(t *testing.T) {
	d := month(nil)
	s := serve(t, d, Options{})
	c := oneShot(t)
	truth := d.Truth()
	pairs := []string{"rows", "300", "sort", "indexed", "order", "asc", "cursor"}
	first := askList(t, c, s, append(pairs, "*")...)
	cursor := first.cursor(t)
	if len(cursor) < 1000 {
		t.Errorf("the cursor has %d characters; real ones are long", len(cursor))
	}
	if other := askList(t, c, s, append(pairs, "*")...).cursor(t); other == cursor {
		t.Error("two walks share a cursor")
	}
	at := 300
	for _, size := range []int{300, 300, 300, 40, 0, 0} {
		e := askList(t, c, s, append(pairs, cursor)...)
		if e.cursor(t) != cursor || e.Message.Total != 1240 || len(e.Message.Items) != size {
			t.Fatalf("at %d: %d items of %d, want %d; same cursor %v", at, len(e.Message.Items), e.Message.Total, size, e.cursor(t) == cursor)
		}
		if size > 0 && doiOf(t, e.Message.Items[0]) != truth[at].DOI {
			t.Fatalf("page at %d starts with another work", at)
		}
		at += size
	}
	if at != 1240 {
		t.Errorf("walked to %d", at)
	}
}

func TestReplayableCursorGivesTheSamePageAgain(t *testing.T) {
	d := month(nil)
	s := serve(t, d, Options{Cursor: ReplayableCursor})
	c := oneShot(t)
	seen := map[string]bool{}
	cursor := "*"
	for range 5 {
		e := askList(t, c, s, "rows", "300", "cursor", cursor)
		if cursor != "*" {
			if again := askList(t, c, s, "rows", "300", "cursor", cursor); !slices.Equal(dois(t, e), dois(t, again)) || again.cursor(t) != e.cursor(t) {
				t.Fatal("the same cursor gave another page")
			}
		}
		for _, doi := range dois(t, e) {
			if seen[doi] {
				t.Fatalf("%s came on two pages", doi)
			}
			seen[doi] = true
		}
		if e.cursor(t) == cursor {
			t.Fatal("two pages share a cursor")
		}
		cursor = e.cursor(t)
	}
	if len(seen) != 1240 {
		t.Errorf("five pages gave %d works", len(seen))
	}
	for _, forged := range []string{cursor[:len(cursor)-4] + "AAAA", strings.ToLower(cursor)} {
		if resp, _, _ := ask(c, s, "/works", query("cursor", forged)); resp.StatusCode != http.StatusNotFound {
			t.Errorf("forged cursor got %d", resp.StatusCode)
		}
	}
}

// A walk shows the moment it began, whatever happens meanwhile; the next walk
// shows the changes.
func TestAWalkReadsASnapshot(t *testing.T) {
	for _, mode := range []CursorMode{ScrollCursor, ReplayableCursor} {
		d := month(nil)
		s := serve(t, d, Options{Cursor: mode})
		c := oneShot(t)
		before := d.Truth()
		first := askList(t, c, s, "rows", "1000", "sort", "indexed", "order", "asc", "cursor", "*")
		if err := d.Touch(before[1100].DOI, day("2024-06-01"), true); err != nil {
			t.Fatal(err)
		}
		if err := d.Remove(before[1101].DOI); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Add("10.5555/late", day("2024-03-31")); err != nil {
			t.Fatal(err)
		}
		rest := askList(t, c, s, "rows", "1000", "cursor", first.cursor(t))
		for i, w := range rest.Message.Items {
			if string(w) != string(before[1000+i].JSON) {
				t.Fatalf("mode %d: work %d changed within the walk", mode, 1000+i)
			}
		}
		if after := walkAll(t, c, s, "1000"); len(rest.Message.Items) != 240 || len(after) != 1240 || len(after) != d.Len() {
			t.Errorf("mode %d: rest %d, next walk %d", mode, len(rest.Message.Items), len(after))
		}
	}
}

// askBare calls the handler without a network, so that it can run in a bubble.
func askBare(s *Server, values url.Values) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/works?"+values.Encode(), nil))
	return rec
}

func bareCursor(t *testing.T, rec *httptest.ResponseRecorder) string {
	var e envelope
	if err := json.Unmarshal(rec.Body.Bytes(), &e); err != nil {
		t.Fatal(err)
	}
	return e.cursor(t)
}

func TestCursorsExpire(t *testing.T) {
	for _, mode := range []CursorMode{ScrollCursor, ReplayableCursor} {
		synctest.Test(t, func(t *testing.T) {
			s, err := NewServer(month(nil), Options{Cursor: mode})
			if err != nil {
				t.Fatal(err)
			}
			cursor := bareCursor(t, askBare(s, query("cursor", "*")))
			for range 3 { // each use gives five more minutes
				<-time.After(5*time.Minute - time.Second)
				rec := askBare(s, query("cursor", cursor))
				if rec.Code != http.StatusOK {
					t.Fatalf("mode %d: status %d within its life", mode, rec.Code)
				}
				cursor = bareCursor(t, rec)
			}
			<-time.After(5 * time.Minute)
			if rec := askBare(s, query("cursor", cursor)); rec.Code != http.StatusNotFound || !strings.Contains(rec.Body.String(), "cursor-invalid") {
				t.Errorf("mode %d: status %d after its life: %s", mode, rec.Code, rec.Body)
			}
			if len(s.walks.open) != 0 || s.walks.queue.Len() != 0 {
				t.Errorf("mode %d: %d expired walks are kept", mode, len(s.walks.open))
			}
		})
	}
}

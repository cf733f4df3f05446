package upsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Many walks at once, over data that changes meanwhile and a server that
// misbehaves: every walk sees each work that nobody touched exactly once.
func TestConcurrentWalks(t *testing.T) {
	for _, mode := range []CursorMode{ScrollCursor, ReplayableCursor} {
		d := month(nil)
		s := serve(t, d, Options{Cursor: mode, Faults: script(t, "503@p:0.2;duplicate-page@p:0.1")})
		truth := d.Truth()
		var wg sync.WaitGroup
		wg.Go(func() { churn(t, d, truth[:100]) })
		for range 6 {
			wg.Go(func() {
				c := &http.Client{Transport: &http.Transport{}}
				defer c.CloseIdleConnections()
				seen, err := stubbornWalk(c, s)
				if err != nil {
					t.Error(err)
					return
				}
				for _, w := range truth[100:] {
					if !seen[w.DOI] {
						t.Errorf("a walk missed %s", w.DOI)
						return
					}
				}
			})
		}
		wg.Wait()
		if s.Requests() != len(s.Log()) {
			t.Errorf("%d requests, %d logged", s.Requests(), len(s.Log()))
		}
	}
}

func churn(t *testing.T, d *Dataset, works []Truth) {
	for i, w := range works {
		if err := d.Touch(w.DOI, w.Indexed.Add(time.Hour), i%2 == 0); err != nil {
			t.Error(err)
		}
		doi, err := d.Add("", w.Indexed)
		if err == nil {
			err = d.Remove(doi)
		}
		if err != nil {
			t.Error(err)
		}
		_ = d.Len()
	}
}

// stubbornWalk repeats what failed, which is safe here: the faults of the test
// leave the position alone.
func stubbornWalk(c *http.Client, s *Server) (map[string]bool, error) {
	seen := map[string]bool{}
	cursor := "*"
	for range 1000 {
		resp, body, err := ask(c, s, "/works", query("rows", "200", "cursor", cursor))
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusServiceUnavailable {
			continue
		}
		var e envelope
		if err := json.Unmarshal(body, &e); err != nil {
			return nil, fmt.Errorf("status %d: %w", resp.StatusCode, err)
		}
		for _, item := range e.Message.Items {
			var w struct{ DOI string }
			if err := json.Unmarshal(item, &w); err != nil {
				return nil, err
			}
			seen[w.DOI] = true
		}
		if len(e.Message.Items) < 200 {
			return seen, nil
		}
		cursor = *e.Message.NextCursor
	}
	return nil, errors.New("a walk does not end")
}

// Requests on one scroll cursor share its pages: each page goes to one of them.
func TestOneScrollCursorSharedByMany(t *testing.T) {
	d := month(nil)
	s := serve(t, d, Options{})
	cursor := askList(t, oneShot(t), s, "rows", "0", "cursor", "*").cursor(t)
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for range 13 {
		wg.Go(func() {
			_, body, err := ask(oneShot(t), s, "/works", query("rows", "100", "cursor", cursor))
			var e envelope
			if err == nil {
				err = json.Unmarshal(body, &e)
			}
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for _, doi := range dois(t, e) {
				seen[doi]++
			}
		})
	}
	wg.Wait()
	for h := range d.Heads() {
		if seen[h.DOI] != 1 {
			t.Fatalf("%s came %d times", h.DOI, seen[h.DOI])
		}
	}
}

func TestStartAndClose(t *testing.T) {
	s, err := NewServer(month(nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a closed server can start again
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(); err == nil {
			t.Error("started twice")
		}
		askList(t, oneShot(t), s)
		at := s.URL()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := oneShot(t).Get(at + "/works"); err == nil || s.URL() != "" {
			t.Errorf("it answers after Close, URL %q", s.URL())
		}
	}
}

package upsim

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestLogEntry(t *testing.T) {
	s := serve(t, month(nil), Options{})
	req, _ := http.NewRequest(http.MethodGet, s.URL()+"/works?rows=3&mailto=a%40example.org", nil)
	req.Header.Set("User-Agent", "thing/1")
	req.Header.Set("X-Ingest-Correlation-Id", "abc")
	req.Header.Set("Authorization", "never logged")
	resp, err := oneShot(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	e := s.Log()[0]
	if e.N != 1 || e.At.IsZero() || e.Method != "GET" || e.Path != "/works" || e.Query.Get("mailto") != "a@example.org" ||
		e.Status != 200 || e.Fault != "" || e.Items != 3 || e.InFlight != 1 {
		t.Errorf("%+v", e)
	}
	if len(e.Header) != 2 || e.Header.Get("User-Agent") != "thing/1" || e.Header.Get("X-Ingest-Correlation-Id") != "abc" {
		t.Errorf("headers %v", e.Header)
	}
}

func TestLogIsBounded(t *testing.T) {
	var mu sync.Mutex
	called := 0
	count := func(Entry) {
		mu.Lock()
		defer mu.Unlock()
		called++
	}
	tests := []struct {
		limit int
		want  []int
	}{{3, []int{8, 9, 10}}, {-1, nil}, {0, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}}
	for _, tt := range tests {
		s := serve(t, month(nil), Options{LogLimit: tt.limit, OnEntry: count})
		called = 0
		for range 10 {
			askList(t, oneShot(t), s, "rows", "0")
		}
		var got []int
		for _, e := range s.Log() {
			got = append(got, e.N)
		}
		if !slices.Equal(got, tt.want) || s.Requests() != 10 || called != 10 {
			t.Errorf("limit %d keeps %v of %d, %d calls", tt.limit, got, s.Requests(), called)
		}
	}
}

// watcher notes at each write how many entries the log has.
type watcher struct {
	*httptest.ResponseRecorder
	s      *Server
	logged []int
}

func (w *watcher) Write(p []byte) (int, error) {
	w.logged = append(w.logged, len(w.s.Log()))
	return w.ResponseRecorder.Write(p)
}

func TestTheLogKnowsBeforeTheClient(t *testing.T) {
	s, err := NewServer(month(nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{httptest.NewRecorder(), s, nil}
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/works", nil))
	if !slices.Equal(w.logged, []int{0, 1}) {
		t.Errorf("entries at each write: %v, want none before the body and one before its last byte", w.logged)
	}
}

// One client that waits for each answer never counts as two, however quickly it
// comes back.
func TestOneClientIsOneInFlight(t *testing.T) {
	s := serve(t, month(nil), Options{})
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	for i := range 200 {
		askList(t, c, s, "rows", []string{"0", "20"}[i%2])
	}
	if s.MaxInFlight() != 1 || s.Requests() != 200 || len(s.Log()) != 200 {
		t.Errorf("%d in flight, %d requests, %d logged", s.MaxInFlight(), s.Requests(), len(s.Log()))
	}
}

// A delay in a bubble ends only when all others wait too: the four requests
// are under way at once for certain.
func TestMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewServer(month(nil), Options{Faults: script(t, "slow@1-4:delay=1s")})
		if err != nil {
			t.Fatal(err)
		}
		var clients sync.WaitGroup
		for range 4 {
			clients.Go(func() { askBare(s, nil) })
		}
		clients.Wait()
		askBare(s, nil)
		if s.MaxInFlight() != 4 || s.Log()[3].InFlight != 4 || s.Log()[4].InFlight != 1 {
			t.Errorf("%d in flight at most; %+v", s.MaxInFlight(), s.Log())
		}
	})
}

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/upsim"
)

// keyedList is an upstream with one long list that counts the requests of each key. A request that it is told to hold has
// no answer before its client is gone.
type keyedList struct {
	mu     sync.Mutex
	served map[string]int
	keys   []string // of all requests, in their order
	sum    int
	holdAt int
	held   chan struct{}
}

const (
	pooledPages = 24
	pooledQuota = 12 // of each of three members: two of them are not enough, because each kill costs a request
)

func (l *keyedList) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.served[r.Header.Get("X-Key")]++
	l.keys = append(l.keys, r.Header.Get("X-Key"))
	l.sum++
	hold := l.sum == l.holdAt
	l.mu.Unlock()
	if hold {
		close(l.held)
		<-r.Context().Done()
		return
	}
	page, _ := strconv.Atoi(r.FormValue("after"))
	next := ""
	if page < pooledPages-1 {
		next = fmt.Sprintf(`,"next":"%d"`, page+1)
	}
	fmt.Fprintf(w, `{"total":%d,"works":[{"id":"%[2]d-a","updated":"2025-03-01T12:00:00Z"},{"id":"%[2]d-b","updated":"2025-03-01T12:00:00Z"}]%[3]s}`, 2*pooledPages, page, next)
}

// holdNext makes the list hold a request that is so many further, and returns what tells that it came.
func (l *keyedList) holdNext(n int) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holdAt, l.held = l.sum+n, make(chan struct{})
	return l.held
}

// keyOf returns the key of a request, counted from zero over all processes.
func (l *keyedList) keyOf(request int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keys[request]
}

const pooledText = `source: pooled
name: Pooled
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
credentials:
  first: {type: API_KEY, name: X-Key, value: env:PATRA_TEST_FIRST}
  second: {type: API_KEY, name: X-Key, value: env:PATRA_TEST_SECOND}
  third: {type: API_KEY, name: X-Key, value: env:PATRA_TEST_THIRD}
  keys: {type: POOL, members: [first, second, third]}
auth: {credential: keys}
rate: {perSecond: 1000, burst: 50, quotaPerDay: %d, quotaMargin: 0}
retry: {initialDelay: PT0.001S, maxDelay: PT0.002S}
slicing: {step: P1D, maxPages: 0}
endpoints:
  works:
    role: SEARCH
    request: {path: /works, query: {from: "${filter.from}", until: "${filter.to}", after: "${page.token}"}}
    filter: {field: updated}
    window: {safetyLag: PT0S}
    paging: {type: TOKEN, size: 2}
    response: {items: $.works, id: $.id, updatedAt: $.updated, nextToken: $.next, total: $.total}
`

// holdMembers holds what is stored of each member against what the upstream saw of its key: the quota has counted every
// request before it left, and the runs tell of all but those whose page no process lived to store.
func (s subject) holdMembers(list *keyedList, kills int) {
	s.t.Helper()
	db := localstore.Beside(s.t, s.database)
	runs, err := db.Runs(s.t.Context(), view.Filter{Limit: 100})
	if err != nil {
		s.t.Fatal(err)
	}
	told := ingest.MemberTally{}
	for _, r := range runs {
		told = told.Add(r.Stats.Members)
	}
	list.mu.Lock()
	defer list.mu.Unlock()
	sum := 0
	for _, name := range []string{"first", "second", "third"} {
		use, err := db.QuotaUse(s.t.Context(), gate.MemberKey(s.source, name))
		if err != nil {
			s.t.Fatal(err)
		}
		served, taken := list.served["kanari-"+name], 0.0
		for _, t := range use.Taken {
			taken += t.Amount
		}
		if taken < float64(served) || taken > pooledQuota {
			s.t.Errorf("after %d kills the quota of %s has counted %v, and its key was used %d times of %d", kills, name, taken, served, pooledQuota)
		}
		if got := told[name].Requests; got > served {
			s.t.Errorf("after %d kills the runs tell of %d requests of %s, and its key was used %d times", kills, got, name, served)
		}
		sum += told[name].Requests
	}
	if sum < list.sum-2*kills {
		s.t.Errorf("after %d kills the runs tell of %d requests of all members, and %d came: %+v", kills, sum, list.sum, told)
	}
}

// kill -9 in the middle of a list that is read with a pool: whatever the processes sent, no member was used beyond its
// quota, and nothing is lost. What each member was used for outlives the process, so the next one begins with another member.
func TestAKilledHarvestWithAPoolLosesNothing(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		t.Setenv("XDG_CONFIG_HOME", t.TempDir())
		for _, name := range []string{"FIRST", "SECOND", "THIRD"} {
			t.Setenv("PATRA_TEST_"+name, "kanari-"+strings.ToLower(name))
		}
		list := &keyedList{served: map[string]int{}}
		server := httptest.NewServer(list)
		t.Cleanup(server.Close)
		s := subject{world: newWorld(t, database, upsim.Config{Seed: 1, PerDay: 1}, upsim.Options{}), source: "pooled"}
		file := filepath.Join(t.TempDir(), "pooled.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, pooledText, server.URL, pooledQuota), 0o600); err != nil {
			t.Fatal(err)
		}
		s.must("source", "apply", file, "--trust")
		args := []string{"harvest", "pooled", "--from", "2025-03-01", "--to", "2025-03-02", "--now", "2025-03-02", "-q", "--workers", "1", "--lease", "2s"}
		var begun []string // the key with which each process began
		for kills, n := range []int{5, 8} {
			held, before := list.holdNext(n), list.sum
			cmd, output := s.child(args...)
			ended := make(chan struct{})
			go func() { _ = cmd.Wait(); close(ended) }()
			select {
			case <-held:
			case <-ended:
				t.Fatalf("the harvest ended before its request %d: %s", n, output)
			}
			_ = cmd.Process.Kill()
			<-ended
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
				t.Fatalf("%v: %s", cmd.ProcessState, output)
			}
			s.sane()
			s.holdMembers(list, kills+1)
			begun = append(begun, list.keyOf(before))
		}
		before := list.sum
		s.must(args...)
		s.sane()
		s.holdMembers(list, 2)
		if begun = append(begun, list.keyOf(before)); begun[0] == begun[1] || begun[1] == begun[2] || begun[0] == begun[2] {
			t.Errorf("three processes began with %q: each should see what those before it used, and begin with the member that has most left", begun)
		}
		cursors, err := s.open().Cursors.List(t.Context(), s.source)
		if err != nil || len(cursors) != 1 || cursors[0].Instant.Format(time.DateOnly) != "2025-03-02" {
			t.Errorf("%+v, %v", cursors, err)
		}
		records, err := localstore.Beside(t, database).Records(t.Context(), s.source, "works", nil, 1000)
		if err != nil || len(records) != 2*pooledPages {
			t.Errorf("%d records, %v", len(records), err)
		}
		for key, served := range list.served {
			if served > pooledQuota {
				t.Errorf("%s was used %d times, and may be %d times: %v", key, served, pooledQuota, list.served)
			}
		}
		if len(list.served) < 2 || list.sum < pooledPages+2 || list.sum > pooledPages+4 {
			t.Errorf("%d requests: %v", list.sum, list.served)
		}
	})
}

package daemon

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/filecopy"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

const fileSource = `source: dump
name: Dump
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
retry: {maxAttempts: 2, taskAttempts: 1, initialDelay: PT0.01S}
endpoints:
  works:
    role: FILE
    files: {listing: index, every: P1D, packed: GZIP}
    response: {format: JSONL, items: $, id: $.id, updatedAt: $.changed, fields: {title: $.title}}
  index:
    role: LISTING
    request: {path: /index}
    paging: {type: ONE}
    response: {items: $.files, id: $.name, updatedAt: $.date, fields: {address: $.url, size: $.size, lines: $.lines, md5: $.md5}}
`

// served is a file of the made upstream.
type served struct {
	body        []byte
	date        time.Time
	lines, size int
	md5         string
	cut         int // so many bytes are served; 0: all
}

// fileServer serves a listing and files, with ranges, and counts what is fetched.
type fileServer struct {
	mu      sync.Mutex
	files   map[string]*served
	fetched map[string]int
	silent  bool   // the listing announces nothing but dates
	wrong   string // what is wrong with the index page
	store   string // address of the host that downloads are sent on to; empty: none
}

func gzipped(text string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return out.Bytes()
}

// put makes a file with the works from one to another.
func (f *fileServer) put(name string, from, to int, date time.Time) *served {
	f.mu.Lock()
	defer f.mu.Unlock()
	var text strings.Builder
	for n := from; n < to; n++ {
		fmt.Fprintf(&text, `{"id":"w%d","title":"Work %d","changed":%q}`+"\n", n, n, date.Format(time.RFC3339))
	}
	body := gzipped(text.String())
	sum := md5.Sum(body)
	s := &served{body: body, date: date, lines: to - from, size: len(body), md5: hex.EncodeToString(sum[:])}
	f.files[name] = s
	return s
}

func (f *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.URL.Path == "/page" {
		f.writePage(w)
		return
	}
	if r.URL.Path == "/index" {
		all := []any{}
		for name, s := range f.files {
			one := map[string]any{"name": name, "url": "/files/" + name, "date": s.date.Format(time.RFC3339)}
			if !f.silent {
				one["size"], one["lines"], one["md5"] = s.size, s.lines, s.md5
			}
			all = append(all, one)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"files": all})
		return
	}
	if f.store != "" && "http://"+r.Host != f.store {
		http.Redirect(w, r, f.store+r.URL.Path+"?signature=1", http.StatusFound)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/files/")
	s, ok := f.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	f.fetched[name]++
	body := s.body
	if s.cut > 0 {
		body = body[:s.cut]
	}
	http.ServeContent(w, r, name, s.date, bytes.NewReader(body))
}

// filesWorld is a source of files and a program that harvests it.
type filesWorld struct {
	*testing.T
	up    *fileServer
	app   *App
	src   *registry.Source
	now   time.Time
	clock atomic.Pointer[time.Time]
	dir   string
}

func newFilesWorld(t *testing.T, database, text string) *filesWorld {
	t.Helper()
	w := &filesWorld{T: t, up: &fileServer{files: map[string]*served{}, fetched: map[string]int{}}, now: time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC), dir: t.TempDir()}
	server := httptest.NewServer(w.up)
	t.Cleanup(server.Close)
	var err error
	if w.src, _, err = registry.Decode("dump.yaml", fmt.Appendf(nil, text, server.URL)); err != nil {
		t.Fatal(err)
	}
	localstore.GiveTables(t, database)
	began := w.now
	w.clock.Store(&began)
	if w.app, err = Open(t.Context(), Config{Database: database, Relaxed: true, FilesDir: w.dir, Clock: func() time.Time { return *w.clock.Load() }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.app.Close() })
	return w
}

// harvest harvests the files a while later.
func (w *filesWorld) harvest(after time.Duration) Harvested {
	w.Helper()
	later := w.now.Add(after)
	w.now = later
	w.clock.Store(&later)
	c, err := Compile(w.src, "", ingest.Harvest, nil)
	if err != nil {
		w.Fatal(err)
	}
	h, err := w.app.Harvest(w.Context(), c, NewRequest(w.now, nil, nil), Watch{})
	if err != nil {
		w.Fatal(err)
	}
	return h
}

func (w *filesWorld) known() coverage.State {
	w.Helper()
	c, err := Compile(w.src, "", ingest.Harvest, nil)
	if err != nil {
		w.Fatal(err)
	}
	own, err := c.Namespace()
	if err != nil {
		w.Fatal(err)
	}
	state, _, err := w.app.store.CoverageState(w.Context(), own)
	if err != nil {
		w.Fatal(err)
	}
	return state
}

// copies lists what is left in the folder of copies.
func (w *filesWorld) copies() (left []string) {
	w.Helper()
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "swept" {
			left = append(left, e.Name())
		}
	}
	return left
}

// A harvest removes copies that a process left behind which died long ago.
func TestHarvestSweepsCopiesThatWereLeftBehind(t *testing.T) {
	w := newFilesWorld(t, "sqlite:"+t.TempDir()+"/f.db", fileSource)
	w.up.put("a.jsonl.gz", 0, 10, w.now.Add(-48*time.Hour))
	for name, old := range map[string]time.Duration{"7-dead.part": 3 * filecopy.LeftBehind, "7-dead.json": 3 * filecopy.LeftBehind, "7-dead.lock": 3 * filecopy.LeftBehind, "8-waits.part": time.Hour} {
		path, then := filepath.Join(w.dir, name), time.Now().Add(-old)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	w.harvest(0)
	if left := w.copies(); !slices.Equal(left, []string{"8-waits.part"}) {
		t.Errorf("left are %v", left)
	}
}

// Files that a listing names are read, each as a slice of its own. The second time nothing is
// fetched. New and changed files are read, vanished ones stay. A file that is cut at the end of a
// line is a gap until it is whole (D§5.26).
func TestFilesAreHarvested(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newFilesWorld(t, database, fileSource)
		day := w.now.Add(-48 * time.Hour)
		w.up.put("a.jsonl.gz", 0, 1200, day)
		w.up.put("b.jsonl.gz", 1200, 1250, day)
		h := w.harvest(0)
		if s := h.Plan.Stats; s.Inserted != 1250 || h.Plan.Slices[string(ingest.SliceSucceeded)] != 2 {
			t.Fatalf("first: %+v %v %+v", s.BatchStats, h.Plan.Slices, h)
		}
		if at := w.known().Cursor; !at.Equal(w.now) {
			t.Errorf("known as of %s, want %s", at, w.now)
		}
		h = w.harvest(24 * time.Hour)
		if s := h.Plan.Stats; s.Seen != 0 || w.up.fetched["a.jsonl.gz"] != 1 || !w.known().Cursor.Equal(w.now) {
			t.Fatalf("second: %+v %v, fetched %v", s.BatchStats, h.Plan.Slices, w.up.fetched)
		}
		// a changes, c is new, b vanishes.
		w.up.put("a.jsonl.gz", 0, 1201, w.now.Add(-time.Hour))
		w.up.put("c.jsonl.gz", 3000, 3010, w.now.Add(-time.Hour))
		delete(w.up.files, "b.jsonl.gz")
		h = w.harvest(24 * time.Hour)
		if s := h.Plan.Stats; s.Inserted != 10 || s.Updated != 1201 || s.Gone != 0 || w.up.fetched["a.jsonl.gz"] != 2 || w.up.fetched["c.jsonl.gz"] != 1 {
			t.Fatalf("third: %+v, fetched %v", s.BatchStats, w.up.fetched)
		}
		// d is cut at the end of a line, in a way that gzip cannot show.
		made := w.now
		cut := w.up.put("d.jsonl.gz", 4000, 4009, made)
		cut.lines++
		before := w.known().Cursor
		h = w.harvest(24 * time.Hour)
		if h.Plan.Slices[string(ingest.SliceFailed)] != 1 || !w.known().Cursor.Equal(before) && w.known().Cursor.Equal(w.now) {
			t.Fatalf("a cut file is taken for whole: %v, known as of %s", h.Plan.Slices, w.known().Cursor)
		}
		covered, err := w.app.Inspect.CoverageOf(t.Context(), w.src)
		if err != nil || len(covered.All) != 1 || len(covered.All[0].FailedGaps()) != 1 {
			t.Fatalf("no gap: %+v %v", covered, err)
		}
		w.up.put("d.jsonl.gz", 4000, 4010, made)
		h = w.harvest(24 * time.Hour)
		if s := h.Plan.Stats; s.Inserted != 1 || s.Unchanged != 9 || !w.known().Cursor.Equal(w.now) {
			t.Fatalf("after it is whole: %+v, known as of %s, want %s", s.BatchStats, w.known().Cursor, w.now)
		}
		if left := w.copies(); len(left) > 0 {
			t.Errorf("copies are left: %v", left)
		}
	})
}

// A set of files that only dates tell apart is read when something shows that each is whole:
// several packed files one behind the other do not (D§5.26).
func TestFilesWithoutAnnouncementsMustShowTheirEnd(t *testing.T) {
	w := newFilesWorld(t, "sqlite:"+t.TempDir()+"/f.db", fileSource)
	w.up.silent = true
	day := w.now.Add(-48 * time.Hour)
	w.up.put("a.jsonl.gz", 0, 30, day)
	two := w.up.put("b.jsonl.gz", 30, 40, day)
	two.body = slices.Concat(two.body, gzipped("{\"id\":\"w99\",\"title\":\"x\",\"changed\":\"2025-01-01T00:00:00Z\"}\n"))
	h := w.harvest(0)
	if h.Plan.Slices[string(ingest.SliceFailed)] != 1 || h.Plan.Slices[string(ingest.SliceSucceeded)] != 1 {
		t.Fatalf("%v", h.Plan.Slices)
	}
	a := w.up.files["a.jsonl.gz"]
	a.date = w.now.Add(time.Hour)
	a.cut = len(a.body) - 5
	h = w.harvest(24 * time.Hour)
	if h.Plan.Slices[string(ingest.SliceFailed)] != 2 || w.known().Cursor.Equal(w.now) {
		t.Fatalf("a cut gzip: %v", h.Plan.Slices)
	}
}

const indexPageSource = `source: dump
name: Dump
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
retry: {maxAttempts: 1, taskAttempts: 1, initialDelay: PT0.01S}
endpoints:
  works:
    role: FILE
    files: {listing: index, every: P1D, packed: GZIP}
    response: {format: JSONL, items: $, id: $.id, updatedAt: $.changed, fields: {title: $.title}}
  index:
    role: LISTING
    request: {path: /page}
    paging: {type: ONE}
    response:
      format: TEXT
      line: 'href="(?P<name>[^"]+\.jsonl\.gz)">.*</a> +(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2})'
      skip: '^</?(html|head|body|pre|h1|hr)|Parent Directory|README'
      last: '</html>'
      items: $
      id: $.name
      updatedAt: $.date
      dateFormats: ['yyyy-MM-dd HH:mm']
      fields: {address: "${concat('/files/', jsonPath('$.name'))}"}
`

// Files that only an index page of a web server names are read. A page that is cut, and one with a
// line that the source file does not know, names no files (D§5.26).
func TestFilesOfAnIndexPage(t *testing.T) {
	w := newFilesWorld(t, "sqlite:"+t.TempDir()+"/f.db", indexPageSource)
	day := w.now.Add(-48 * time.Hour)
	w.up.put("a.jsonl.gz", 0, 30, day)
	w.up.put("b.jsonl.gz", 30, 40, day)
	h := w.harvest(0)
	if s := h.Plan.Stats; s.Inserted != 40 || h.Plan.Slices[string(ingest.SliceSucceeded)] != 2 {
		t.Fatalf("first: %+v %v", s.BatchStats, h.Plan.Slices)
	}
	w.up.put("c.jsonl.gz", 40, 41, w.now)
	before := w.known().Cursor
	for _, wrong := range []string{"cut", "unknown"} {
		w.up.wrong = wrong
		if h = w.harvest(24 * time.Hour); h.Plan.Slices[string(ingest.SliceFailed)] != 1 || !w.known().Cursor.Equal(before) {
			t.Errorf("%s: %v", wrong, h.Plan.Slices)
		}
	}
	w.up.wrong = ""
	if h = w.harvest(24 * time.Hour); h.Plan.Stats.Inserted != 1 || w.up.fetched["a.jsonl.gz"] != 1 || !w.known().Cursor.Equal(w.now) {
		t.Errorf("at last: %+v, fetched %v", h.Plan.Stats.BatchStats, w.up.fetched)
	}
}

// writePage answers with the files as a web server lists a folder.
func (f *fileServer) writePage(w http.ResponseWriter) {
	page := "<html>\n<head><title>Index of /files</title></head>\n<body>\n<h1>Index of /files</h1>\n<pre>Name                 Last modified      Size\n<hr><a href=\"/\">Parent Directory</a>\n"
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		page += fmt.Sprintf("<a href=%q>%s</a>     %s   1K\n", name, name, f.files[name].date.Format("2006-01-02 15:04"))
	}
	switch f.wrong {
	case "cut":
	case "unknown":
		page += "<a href=\"b.jsonl.zst\">b.jsonl.zst</a> 2025-03-03 00:00 1K\n</pre>\n</body></html>\n"
	default:
		page += "<a href=\"README.txt\">README.txt</a> 2025-03-03 00:00 1K\n<hr></pre>\n</body></html>\n"
	}
	_, _ = w.Write([]byte(page))
}

// A download is sent on to the store behind it, if the source names that host (decision 160).
func TestAFileIsFetchedFromTheStoreBehindIt(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		var w *filesWorld
		store := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) { w.up.ServeHTTP(answer, r) }))
		t.Cleanup(store.Close)
		named := strings.Replace(fileSource, "allowPrivate: true", fmt.Sprintf("allowPrivate: true, redirectHosts: [%q]", strings.TrimPrefix(store.URL, "http://")), 1)
		w = newFilesWorld(t, database, named)
		w.up.store = store.URL
		w.up.put("a.gz", 0, 40, w.now)
		if h := w.harvest(time.Hour); h.Plan.Stats.Inserted != 40 || w.up.fetched["a.gz"] != 1 {
			t.Errorf("%+v, fetched %v", h.Plan.Stats.BatchStats, w.up.fetched)
		}
	})
}

// A host that nobody named is not asked, whoever sends us there.
func TestAFileIsNotFetchedFromAHostThatNobodyNamed(t *testing.T) {
	w := newFilesWorld(t, "sqlite:"+t.TempDir()+"/f.db", strings.Replace(fileSource, "allowPrivate: true", "allowPrivate: true, allowRedirects: true", 1))
	store := httptest.NewServer(w.up)
	t.Cleanup(store.Close)
	w.up.store = store.URL
	w.up.put("a.gz", 0, 40, w.now.Add(-time.Hour))
	c, err := Compile(w.src, "", ingest.Harvest, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = w.app.Harvest(t.Context(), c, NewRequest(w.now, nil, nil), Watch{}); err == nil || !strings.Contains(err.Error(), "http.redirectHosts") || w.up.fetched["a.gz"] != 0 {
		t.Errorf("%v, fetched %v", err, w.up.fetched)
	}
}

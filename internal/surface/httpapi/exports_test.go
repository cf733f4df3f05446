package httpapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/daemon"
)

// job is an export as the interface tells it.
type job struct {
	ID                                        int64
	Status, Error, SHA256, File, Cursor, Seal string
	Records, Bytes                            int64
	Share                                     float64
	Repeated, DryRun, Changed                 bool
	ExpiresAt                                 time.Time
}

// makeExports lets the process make exports until the test ends.
func (s *served) makeExports() {
	s.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.app.Exports.Run(ctx) // ends with ctx
	}()
	s.Cleanup(func() {
		stop()
		<-ended
	})
}

// ask asks for an export.
func (s *served) ask(key, fields string) (status int, out job) {
	s.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/exports", strings.NewReader(`{"reason":"for a paper"`+fields+`}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil && w.Code == http.StatusOK {
		s.Fatal(err)
	}
	if w.Code != http.StatusOK {
		s.Logf("%s: %d %s", fields, w.Code, w.Body)
	}
	return w.Code, out
}

// ended waits until an export has ended.
func (s *served) ended(id int64) (out job) {
	s.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for range 3000 {
		out = job{}
		s.read(fmt.Sprintf("/v1/exports/%d", id), &out)
		if out.Status != "QUEUED" && out.Status != "RUNNING" {
			return out
		}
		<-look.C
	}
	s.Fatalf("export %d does not end: %+v", id, out)
	return out
}

// made asks for an export and waits until it is made.
func (s *served) made(fields string) job {
	s.Helper()
	status, asked := s.ask("", fields)
	if status != http.StatusOK {
		s.Fatalf("%s: %d", fields, status)
	}
	out := s.ended(asked.ID)
	if out.Status != "SUCCEEDED" {
		s.Fatalf("%+v", out)
	}
	return out
}

// fetch fetches the file of an export, with headers in pairs.
func (s *served) fetch(id int64, pairs ...string) *httptest.ResponseRecorder {
	s.Helper()
	r := httptest.NewRequest(http.MethodGet, fmt.Sprintf("/v1/exports/%d/file", id), nil)
	for i := 0; i+1 < len(pairs); i += 2 {
		r.Header.Set(pairs[i], pairs[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// TestR11AnExportIsAskedForOnce asks for records, also by a dry run and again under the same key.
func TestR11AnExportIsAskedForOnce(t *testing.T) {
	s := serve(t)
	if status, dry := s.ask("k", `,"source":"crossref","dryRun":true`); status != http.StatusOK || dry.ID != 0 || !dry.DryRun {
		t.Errorf("a dry run: %d %+v", status, dry)
	}
	_, first := s.ask("k", `,"source":"crossref"`)
	status, again := s.ask("k", `,"source":"crossref","endpoint":"works","format":"jsonl"`)
	if status != http.StatusOK || first.Repeated || !again.Repeated || again.ID != first.ID || first.Status != "QUEUED" {
		t.Errorf("first %+v, again %d %+v", first, status, again)
	}
	if status, _ := s.ask("k", `,"source":"crossref","format":"csv"`); status != http.StatusConflict {
		t.Errorf("the same key for something else: %d", status)
	}
	var list struct{ Items []job }
	s.read("/v1/exports?status=QUEUED", &list)
	if len(list.Items) != 1 {
		t.Errorf("exports: %+v", list)
	}
	for fields, want := range map[string]int{
		`,"source":"nonesuch"`:                               404,
		`,"source":"crossref","endpoint":"nonesuch"`:         404,
		`,"source":"crossref","format":"xml"`:                422,
		`,"source":"crossref","fields":["nonesuch"]`:         422,
		`,"source":"crossref","since":"../../etc/passwd"`:    422,
		`,"source":"crossref","batch":1`:                     422,
		`,"source":"crossref","file":"/tmp/x"`:               422,
		`,"source":"crossref","out":"../x"`:                  422,
		`,"kind":"BLACK_BOX"`:                                422,
		`,"kind":"BLACK_BOX","batch":99999999`:               404,
		`,"kind":"BLACK_BOX","batch":1,"usableFor":"P9999D"`: 422,
		`,"kind":"BLACK_BOX","batch":1,"source":"crossref"`:  422,
		``: 422,
	} {
		if status, _ := s.ask("", fields); status != want {
			t.Errorf("%s: %d, want %d", fields, status, want)
		}
	}
	if status, _, _ := s.send(http.MethodPost, "/v1/exports", `{"source":"crossref"}`); status != http.StatusUnprocessableEntity {
		t.Errorf("without a reason: %d", status)
	}
}

// TestAnExportOfRecordsIsMadeAndFetched makes files of all forms. Each holds what it says, in a
// folder for its owner alone.
func TestAnExportOfRecordsIsMadeAndFetched(t *testing.T) {
	s := serve(t)
	s.makeExports()
	whole := s.made(`,"source":"crossref"`)
	w := s.fetch(whole.ID)
	if sum := fmt.Sprintf("%x", sha256.Sum256(w.Body.Bytes())); w.Code != http.StatusOK || sum != whole.SHA256 || int64(w.Body.Len()) != whole.Bytes || int64(bytes.Count(w.Body.Bytes(), []byte("\n"))) != whole.Records || whole.Records == 0 || whole.Share != 1 {
		t.Fatalf("%d, %d bytes of SHA-256 %s: %+v", w.Code, w.Body.Len(), sum, whole)
	}
	if h := w.Header(); h.Get("Content-Type") != "application/octet-stream" || h.Get("Content-Disposition") != fmt.Sprintf(`attachment; filename="export-%d-records.jsonl"`, whole.ID) || !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox") || h.Get("ETag") != `"`+whole.SHA256+`"` {
		t.Errorf("headers %v", h)
	}
	if part := s.fetch(whole.ID, "Range", "bytes=10-19", "If-Range", `"`+whole.SHA256+`"`); part.Code != http.StatusPartialContent || part.Body.String() != w.Body.String()[10:20] {
		t.Errorf("a range: %d %q", part.Code, part.Body)
	}
	if same := s.fetch(whole.ID, "If-None-Match", `"`+whole.SHA256+`"`); same.Code != http.StatusNotModified || same.Body.Len() != 0 {
		t.Errorf("what is known already: %d", same.Code)
	}
	if since := s.made(`,"source":"crossref","since":"` + whole.Cursor + `"`); since.Records != 0 {
		t.Errorf("%d records changed since", since.Records)
	}
	csv := s.made(`,"source":"crossref","format":"csv","compress":"gzip","fields":["title"]`)
	if got := s.fetch(csv.ID).Body.Bytes(); csv.File != "records.csv.gz" || !bytes.HasPrefix(got, []byte{0x1f, 0x8b}) || csv.Records != whole.Records {
		t.Errorf("%+v", csv)
	}
	var shown any
	path := fmt.Sprintf("/v1/exports/%d", csv.ID)
	s.read(path, &shown)
	s.holdValue(path, s.answerOf(path), shown)
	folder := s.exportFolder()
	if err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if mode := info.Mode().Perm(); err != nil || e.IsDir() && mode != 0o700 || !e.IsDir() && mode != 0o600 || strings.HasSuffix(path, ".partial") {
			t.Errorf("%s has mode %o: %v", path, mode, err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// exportFolder is where files of exports are.
func (s *served) exportFolder() string { return s.file + ".exports" }

// TestR13ReadsOfExportsAreAudited fetches a file: who did so stands in the audit log.
func TestR13ReadsOfExportsAreAudited(t *testing.T) {
	s := serve(t)
	s.makeExports()
	done := s.made(`,"source":"crossref"`)
	s.fetch(done.ID)
	var log struct {
		Items []struct{ Actor, Action, Object, Reason string }
	}
	s.read("/v1/audit?limit=2", &log)
	if e := log.Items[0]; e.Actor != "api:test#7" || e.Action != "export.read" || e.Object != fmt.Sprintf("export/%d", done.ID) || e.Reason != "request c-1" {
		t.Errorf("the newest row of the audit log: %+v", e)
	}
	if e := log.Items[1]; e.Actor != "api:test#7" || e.Action != "export.ask" || e.Reason != "for a paper" {
		t.Errorf("the row before it: %+v", e)
	}
}

// TestABlackBoxIsMadeAndFetched makes the bundle of a batch. It opens with its seal alone.
func TestABlackBoxIsMadeAndFetched(t *testing.T) {
	s := serve(t)
	s.makeExports()
	batch, _, _ := s.newestBatch()
	done := s.made(`,"kind":"BLACK_BOX","usableFor":"P2D","batch":` + batch.String())
	var shown any
	path := fmt.Sprintf("/v1/exports/%d", done.ID)
	s.read(path, &shown)
	s.holdValue(path, s.answerOf(path), shown)
	w := s.fetch(done.ID)
	file := filepath.Join(t.TempDir(), "box.zip")
	if err := os.WriteFile(file, w.Body.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := daemon.OpenBundle(file, done.Seal, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if m := opened.Manifest; m.Actor != "api:test#7" || m.Reason != "for a paper" || m.Keys.BatchID == 0 || m.ExpiresAt.Sub(m.CreatedAt) != 48*time.Hour || m.NoBody != "" {
		t.Errorf("%+v", m)
	}
	if _, err := daemon.OpenBundle(file, done.Seal, time.Now().Add(49*time.Hour)); err == nil {
		t.Error("it opens after it expired")
	}
	var log struct {
		Items []struct{ Actor, Action string }
	}
	s.read("/v1/audit?limit=3", &log)
	if got := log.Items; got[0].Action != "export.read" || got[1].Action != "batch.export" || got[2].Action != "export.ask" || got[1].Actor != "api:test#7" {
		t.Errorf("the audit log: %+v", got)
	}
}

// TestR4AnExportIsOfWhoAskedForIt calls with other tokens: for them it does not exist. An admin
// has those of everybody, of the sources it sees.
func TestR4AnExportIsOfWhoAskedForIt(t *testing.T) {
	s := serve(t)
	s.makeExports()
	owner := access.Caller{Name: "r", TokenID: 20, Role: access.Reader}
	s.caller = owner
	done := s.made(`,"source":"crossref"`)
	batch, _, _ := s.newestBatch()
	for name, c := range map[string]struct {
		caller access.Caller
		sees   bool
	}{
		"the same token":            {owner, true},
		"a session of it":           {access.Caller{Name: "r", TokenID: 20, Role: access.Reader, Session: 3}, true},
		"another of the same name":  {access.Caller{Name: "r", TokenID: 21, Role: access.Reader}, false},
		"an operator":               {access.Caller{Name: "o", TokenID: 22, Role: access.Operator}, false},
		"an admin":                  {access.Caller{Name: "a", TokenID: 23, Role: access.Admin}, true},
		"an admin of other sources": {access.Caller{Name: "b", TokenID: 24, Role: access.Admin, Sources: []string{"pubmed"}}, false},
	} {
		s.caller = c.caller
		want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[c.sees]
		path := fmt.Sprintf("/v1/exports/%d", done.ID)
		if status, _, body := s.call(http.MethodGet, path); status != want || !c.sees && strings.Contains(string(body), "crossref") {
			t.Errorf("%s reads it: %d %s", name, status, body)
		}
		if w := s.fetch(done.ID); w.Code != want {
			t.Errorf("%s fetches it: %d", name, w.Code)
		}
		if status, _, _ := s.send(http.MethodPost, path+"/cancel", `{"reason":"x","dryRun":true}`); status != want {
			t.Errorf("%s cancels it: %d", name, status)
		}
		var list struct{ Items []job }
		s.read("/v1/exports", &list)
		if (len(list.Items) == 1) != c.sees {
			t.Errorf("%s lists %d", name, len(list.Items))
		}
	}
	s.caller = access.Caller{Name: "p", TokenID: 25, Role: access.Reader, Sources: []string{"pubmed"}}
	for _, fields := range []string{`,"source":"crossref"`, `,"kind":"BLACK_BOX","batch":` + batch.String()} {
		if status, _ := s.ask("", fields); status != http.StatusNotFound {
			t.Errorf("%s of another source: %d", fields, status)
		}
	}
}

// TestAnExportIsCancelled stops one that waits, and removes the file of one that is made.
func TestAnExportIsCancelled(t *testing.T) {
	s := serve(t)
	cancel := func(id int64, dry string) (out job) {
		_, _, body := s.send(http.MethodPost, fmt.Sprintf("/v1/exports/%d/cancel", id), `{"reason":"not needed","dryRun":`+dry+`}`)
		if err := json.Unmarshal(body, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	_, waits := s.ask("", `,"source":"crossref"`)
	if w := s.fetch(waits.ID); w.Code != http.StatusConflict {
		t.Errorf("the file of one that waits: %d %s", w.Code, w.Body)
	}
	if out := cancel(waits.ID, "false"); out.Status != "CANCELLED" || !out.Changed {
		t.Errorf("%+v", out)
	}
	s.makeExports()
	done := s.made(`,"source":"crossref"`)
	if out := cancel(done.ID, "true"); !out.DryRun || !out.Changed || s.fetch(done.ID).Code != http.StatusOK {
		t.Errorf("a dry run removed it: %+v", out)
	}
	if out := cancel(done.ID, "false"); out.Status != "CANCELLED" || !out.Changed {
		t.Errorf("%+v", out)
	}
	if out := cancel(done.ID, "false"); out.Changed {
		t.Errorf("a second time: %+v", out)
	}
	if w := s.fetch(done.ID); w.Code != http.StatusNotFound {
		t.Errorf("its file: %d", w.Code)
	}
	left, err := os.ReadDir(s.exportFolder())
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
	if got := s.ended(waits.ID); got.Status != "CANCELLED" {
		t.Errorf("one that was cancelled while it waited: %+v", got)
	}
}

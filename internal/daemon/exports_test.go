package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/surface/httpapi"
)

// byPerson signs what tests do.
var byPerson = ingest.Act{Actor: admin.Actor(), Reason: "for a paper"}

// askExport asks for an export of records.
func (s *stand) askExport() export.Asked {
	s.Helper()
	out, err := s.app.Exports.Ask(s.Context(), export.Wish{Kind: export.JobData, Source: "crossref", Question: export.Question{Format: export.JSONL}}, byPerson)
	if err != nil {
		s.Fatal(err)
	}
	return out
}

// makeExports makes exports until one has ended, and stops.
func (s *stand) makeExports(id int64) export.Job {
	s.Helper()
	ctx, stop := context.WithCancel(s.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.app.Exports.Run(ctx) // ends with ctx
	}()
	defer func() {
		stop()
		<-ended
	}()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for range 3000 {
		j, err := s.app.Exports.Show(s.Context(), id)
		if err != nil {
			s.Fatal(err)
		}
		if !j.Status.Open() {
			return j
		}
		<-look.C
	}
	s.Fatalf("export %d does not end", id)
	return export.Job{}
}

// exports is the folder beside the database where the files of exports are.
func (s *stand) exports() string {
	return strings.TrimPrefix(s.app.config.Database, "sqlite:") + ".exports"
}

// folders lists what lies where the files of exports are.
func (s *stand) folders() (out []string) {
	s.Helper()
	entries, err := os.ReadDir(s.exports())
	if err != nil && !os.IsNotExist(err) {
		s.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// fetch fetches the file of an export over HTTP.
func (s *stand) fetch(id int64) *httptest.ResponseRecorder {
	s.Helper()
	api := s.app.NewAPI(httpapi.Settings{CallerOf: callerIn, RequestID: func(context.Context) string { return "r" }, Log: s.app.config.Log}, nil)
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, fmt.Sprintf("/v1/exports/%d/file", id), nil)
	api.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, admin)))
	return w
}

// A file is there until it expires, by the clock of the store. Then it is not given out any
// more, and the next look removes it.
func TestTheFileOfAnExportExpires(t *testing.T) {
	s := newStand(t)
	done := s.makeExports(s.askExport().ID)
	if want := s.now().Add(24 * time.Hour); done.Status != export.JobSucceeded || !done.ExpiresAt.Equal(want) {
		t.Fatalf("%+v, want it to expire at %s", done, want)
	}
	if w := s.fetch(done.ID); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	s.later.Store(24*3600 - 1)
	if w := s.fetch(done.ID); w.Code != http.StatusOK {
		t.Errorf("a second before: %d %s", w.Code, w.Body)
	}
	s.later.Store(24 * 3600)
	var p httpapi.Problem
	if w := s.fetch(done.ID); w.Code != http.StatusNotFound || json.Unmarshal(w.Body.Bytes(), &p) != nil || !strings.Contains(p.Detail, "ask for the export again") {
		t.Errorf("after it expired: %d %s", w.Code, w.Body)
	}
	if got := s.folders(); len(got) != 1 {
		t.Errorf("nobody looked yet: %v", got)
	}
	next := s.makeExports(s.askExport().ID)
	if got := s.folders(); len(got) != 1 || got[0] != folderOf(next) {
		t.Errorf("left: %v", got)
	}
}

// An export whose process is killed fails with a sentence, its unfinished file is removed, and
// what the dead process might still say is not heard. An export that only waited is made.
func TestAnExportOfADeadProcessFails(t *testing.T) {
	s := newStand(t)
	lost, waits := s.askExport(), s.askExport()
	dead := fmt.Sprintf("1-%s-%d", s.app.identity.Host, 1<<30)
	job, found, err := s.app.store.TakeExport(t.Context(), "abcdefgh23456723", dead)
	if err != nil || !found || job.ID != lost.ID {
		t.Fatalf("%+v %v %v", job, found, err)
	}
	left := filepath.Join(s.exports(), folderOf(job))
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, ".records.jsonl.ABCDEFGH.partial"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	made := s.makeExports(waits.ID)
	if made.Status != export.JobSucceeded {
		t.Errorf("what waited: %+v", made)
	}
	got, err := s.app.Exports.Show(t.Context(), lost.ID)
	if err != nil || got.Status != export.JobFailed || !strings.Contains(got.Error, "ended before the file was whole") || got.File != "" {
		t.Errorf("%+v %v", got, err)
	}
	if w := s.fetch(lost.ID); w.Code != http.StatusNotFound {
		t.Errorf("its file: %d", w.Code)
	}
	if got := s.folders(); len(got) != 1 || got[0] != folderOf(made) {
		t.Errorf("left: %v", got)
	}
	if _, err := s.app.store.EndExport(t.Context(), job.ID, job.Claim, export.JobEnd{Status: export.JobSucceeded}); err == nil {
		t.Error("the dead process says that it is done, and is believed")
	}
}

// A25, R6: what lies in the folder of exports beside them is not touched, whatever it is called, and
// nothing of it is given out.
func TestA25R6TheFolderOfExportsLeadsNowhere(t *testing.T) {
	s := newStand(t)
	outside := filepath.Join(t.TempDir(), "outside")
	for _, dir := range []string{outside, s.exports(), s.exports() + "/notes", s.exports() + "/export-x", s.exports() + "/export-999-abcdefgh23456723"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "records.jsonl"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	job := s.makeExports(s.askExport().ID)
	folder := filepath.Join(s.exports(), folderOf(job))
	if got := s.folders(); len(got) != 4 {
		t.Errorf("the look removed what is not of this database: %v", got)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, folder); err != nil {
		t.Fatal(err)
	}
	if w := s.fetch(job.ID); w.Code == http.StatusOK || strings.Contains(w.Body.String(), "secret") || strings.Contains(w.Body.String(), outside) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if _, err := s.app.Exports.Cancel(t.Context(), job.ID, byPerson); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(outside, "records.jsonl")); err != nil {
		t.Errorf("a file outside was removed: %v", err)
	}
}

// Files of exports take no more room than they may.
func TestExportsTakeNoMoreRoomThanTheyMay(t *testing.T) {
	s := newStand(t)
	s.app.config.Installed.Exports.MaxBytes = 10_000
	s.app.Exports = newExports(s.app)
	got := s.makeExports(s.askExport().ID)
	if got.Status != export.JobFailed || !strings.Contains(got.Error, "have reached exports.maxBytes") {
		t.Errorf("%+v", got)
	}
	if left := s.folders(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// With a database on a server nobody can guess a folder: that is said.
func TestExportsWithoutAFolderAreRefused(t *testing.T) {
	s := newStand(t)
	s.app.config.Database = "mysql://x"
	s.app.Exports = newExports(s.app)
	_, err := s.app.Exports.Ask(t.Context(), export.Wish{Kind: export.JobData, Source: "crossref", Question: export.Question{Format: export.JSONL}}, byPerson)
	if err == nil || !strings.Contains(err.Error(), "exports.dir") {
		t.Errorf("%v", err)
	}
}

// Records are exported from their page, followed on the page of exports, and removed there, by
// whom they belong to.
func TestRecordsAreExportedFromTheirPage(t *testing.T) {
	s := newStand(t)
	s.has(s.page("/exports"), "Nothing was exported yet")
	s.has(s.page("/records?source=crossref"), `action="/exports/new"`, `value="crossref/works"`, "CSV")
	s.has(s.acts("/exports/new?source=crossref/works&format=csv&compress=gzip", admin), "The export is on its way", "csv, gzip", "audit log")
	if got := s.auditOf(); got != "api:ops#7|export.ask|the upstream is back" {
		t.Errorf("the audit log says %s", got)
	}
	s.has(s.page("/exports"), "1 newest export, 1 not ended", "waits", "crossref/works, csv", "/exports/1/cancel")
	s.makeExports(1)
	s.has(s.page("/exports"), "done", `href="/v1/exports/1/file"`, "Download", "Remove")
	for _, c := range []access.Caller{{Name: "r", TokenID: 20, Role: access.Operator}, {Name: "p", TokenID: 21, Role: access.Admin, Sources: []string{"pubmed"}}} {
		if _, body := s.get("/exports", c); strings.Contains(body, "crossref") {
			t.Errorf("%s sees it", c.Name)
		}
		for path, want := range map[string]int{"/exports/1/cancel": 404, "/exports/x/cancel": 404, "/exports/99/cancel": 404} {
			if status, _ := s.get(path, c); status != want {
				t.Errorf("%s: %s answers %d", c.Name, path, status)
			}
		}
	}
	limited := access.Caller{Name: "p", TokenID: 21, Role: access.Reader, Sources: []string{"pubmed"}}
	plans, err := s.app.Tasks.ListBatches(t.Context(), view.Filter{Limit: 1})
	if err != nil || len(plans) == 0 {
		t.Fatal(err)
	}
	box := fmt.Sprintf("/exports/new?batch=%d", plans[0].ID)
	for path, want := range map[string]int{"/exports/new?source=crossref": 404, box: 404} {
		if status, _ := s.get(path, limited); status != want {
			t.Errorf("%s answers %d", path, status)
		}
	}
	if status, _ := s.get("/exports", access.Caller{Name: "v", TokenID: 3, Role: access.Viewer}); status != http.StatusForbidden {
		t.Errorf("a viewer: %d", status)
	}
	for path, want := range map[string]int{"/exports/new?source=crossref&format=xml": 400, "/exports/new?source=crossref/none": 404, "/exports/new?batch=x": 400, "/exports/new": 404} {
		if status, _ := s.get(path, admin); status != want {
			t.Errorf("%s answers %d, want %d", path, status, want)
		}
	}
	s.has(s.page(fmt.Sprintf("/batches/%d", plans[0].ID)), box)
	s.has(s.acts(box, admin), "black box of", "The export is on its way")
	s.has(s.acts("/exports/1/cancel", admin), "Export 1 is cancelled")
	s.has(s.page("/exports"), "cancelled")
	if left := s.folders(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	s.has(s.page("/exports/1/cancel"), "There is nothing to do")
	s.later.Store(3 * 24 * 3600)
	s.has(s.page("/exports"), "2 newest exports")
}

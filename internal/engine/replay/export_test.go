package replay_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/driver/blob"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
)

func (w *world) export(id int64) (file string, m blackbox.Manifest) {
	w.Helper()
	file = filepath.Join(w.TempDir(), "bundle.zip")
	done, err := w.app.Replays.Export(w.Context(), daemon.BatchRef{BatchID: id}, daemon.Export{
		By: ingest.Act{Actor: "ann", Reason: "a look"}, Path: func(blackbox.Manifest) string { return file }, Expires: time.Hour, At: time.Now(),
	})
	if err != nil {
		w.Fatal(err)
	}
	return file, done.Manifest
}

// A bundle replays as its batch does, with nothing but the file.
func TestBundleNeedsNothingElse(t *testing.T) {
	for _, name := range []string{"offset", "links-header", "search", "key-query"} {
		_, compiled := formNamed(t, name).Start(t, dataset(25), "503@every:6")
		w := harvested(t, compiled)
		for _, b := range w.batches() {
			file, m := w.export(b.ID)
			bundle, err := daemon.OpenBundle(file, m.Seal, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			report, err := bundle.Replay(t.Context(), daemon.ReplayOptions{From: daemon.ReplayRaw, At: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			w.same(report)
			if report.Keys.BatchID != b.ID || report.Bundle == nil {
				t.Errorf("%+v", report)
			}
		}
	}
}

// I12: nothing of a credential is in a bundle, neither what was masked when the
// answer came, nor what stands in a kept body for another reason.
func TestNoSecretInABundle(t *testing.T) {
	for _, form := range simulated.AuthForms() {
		_, compiled := form.Start(t, dataset(15), "")
		w := harvested(t, compiled)
		id := w.batches()[0].ID
		file, m := w.export(id)
		if m.Scrubbed {
			t.Errorf("%s: the kept body held the secret", form.Name)
		}
		holdsNoSecret(t, form.Name, file)

		box, err := w.store().Box(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		w.plant(box.Batch, `{"items":[],"total":0,"note":"your key `+simulated.Secret+` is about to expire"}`)
		file, m = w.export(id)
		if !m.Scrubbed {
			t.Errorf("%s: the body was not scrubbed", form.Name)
		}
		holdsNoSecret(t, form.Name+", planted", file)
	}
}

// plant makes a batch refer to another body.
func (w *world) plant(b view.Batch, body string) {
	w.Helper()
	bodies, err := blob.Open(w.app.Bodies.Dir(), blob.Options{})
	if err != nil {
		w.Fatal(err)
	}
	defer bodies.Close()
	ref, _, err := bodies.Put(w.Context(), []byte(body), "", nil)
	if err != nil {
		w.Fatal(err)
	}
	w.exec("UPDATE ing_batch_evidence SET blob_ref = ? WHERE batch_id = ?", ref, b.ID)
}

func holdsNoSecret(t *testing.T, name, file string) {
	t.Helper()
	r, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		in.Close()
		if bytes.Contains(text, []byte(simulated.Secret)) {
			t.Errorf("%s: the secret is in %s", name, f.Name)
		}
	}
}

// What was exported is in the audit log, before the file is there; without a
// reason, or where the file cannot be, nothing is.
func TestExportIsAudited(t *testing.T) {
	_, compiled := simulated.Crossref(t, dataset(10), "")
	w := harvested(t, compiled)
	order := func(path string, by ingest.Act, expires time.Duration) error {
		_, err := w.app.Replays.Export(t.Context(), daemon.BatchRef{RunID: 1, No: 1}, daemon.Export{
			By: by, Path: func(blackbox.Manifest) string { return path }, Expires: expires, At: time.Now(),
		})
		return err
	}
	taken := filepath.Join(t.TempDir(), "taken.zip")
	if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh.zip")
	ann := ingest.Act{Actor: "ann", Reason: "a look"}
	w.pure(func() {
		for name, err := range map[string]error{
			"no reason":   order(fresh, ingest.Act{Actor: "ann"}, time.Hour),
			"no time":     order(fresh, ann, 0),
			"no folder":   order(filepath.Join(taken, "x.zip"), ann, time.Hour),
			"a rehearsal": order(fresh, ingest.Act{Actor: "ann", Reason: "a look", Rehearsal: true}, time.Hour),
		} {
			if rehearsed := name == "a rehearsal"; rehearsed != (err == nil) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := order(taken, ann, time.Hour); !errors.Is(err, fault.ErrConflict) {
			t.Errorf("a file that exists: %v", err)
		}
	})
	if text, err := os.ReadFile(taken); err != nil || string(text) != "mine" {
		t.Errorf("the file of somebody else is gone: %s", text)
	}
	if _, err := os.Stat(fresh); !errors.Is(err, os.ErrNotExist) {
		t.Error("a bundle was written")
	}
	if err := order(fresh, ann, time.Hour); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(fresh); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if got := w.texts(`SELECT a.actor || ' ' || a.reason FROM ing_audit_log a JOIN ing_task_run_batch b ON a.object = 'batch/' || b.id
  WHERE a.action = 'batch.export' AND b.run_id = 1 AND b.batch_no = 1`); strings.Join(got, ";") != "ann a look" {
		t.Errorf("%v", got)
	}
}

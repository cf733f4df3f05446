package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli"
	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/storetest"
	"github.com/patra-ingest/patra/internal/upsim"
)

// checksum is one of each table over all of its rows (I13).
func (w *world) checksum() string {
	w.t.Helper()
	db, err := check.Open(w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	dialect, _, _ := strings.Cut(w.database, ":")
	return storetest.Digest(w.t, db, dialect)
}

// again replays a batch and expects an exit code.
func (w *world) again(want int, args ...string) (r blackbox.Report) {
	w.t.Helper()
	code, out, errText := w.patra(append([]string{"batch", "replay", "-o", "json"}, args...)...)
	if code != want {
		w.t.Fatalf("replay %v: exit %d, want %d\n%s%s", args, code, want, out, errText)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil && (want == 0 || want == 9) {
		w.t.Fatalf("%v\n%s", err, out)
	}
	return r
}

// Every batch of a faulty harvest is done again offline and is identical; what
// changed upstream is the source's doing, what was declared otherwise is ours; a
// bundle replays where there is neither database nor network. None of it writes.
func TestReplay(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 7, PerDay: 120, BadIDEvery: 61, BadDateEvery: 97}, upsim.Options{})
		t.Setenv("PATRA_RAW_DIR", t.TempDir())
		w.faults("429@every:13;truncate-gzip@every:17;reset@every:23;html-200@every:29;503@every:31;error-200@every:37;lost-answer@every:41;duplicate-page@every:9;expire-cursor@every:43")
		const partial = 3
		w.harvest(partial)
		w.faultsOff()
		var batches []struct {
			ID, RunID int64
			No        int `json:"batchNo"`
			Page      int `json:"pageNo"`
			Stats     struct{ Inserted int }
		}
		if err := decodeItems(w.must("batch", "list", "--limit", "1000", "-o", "json"), &batches); err != nil || len(batches) < 10 {
			t.Fatalf("%d batches, %v", len(batches), err)
		}
		asked, before := w.server.Requests(), w.checksum()
		seen := 0
		for _, b := range batches {
			r := w.again(0, fmt.Sprintf("%d/%d", b.RunID, b.No))
			if !r.Identical || r.Keys.BatchID != b.ID || len(r.Notes) > 0 {
				t.Errorf("batch %d: %+v", b.ID, r)
			}
			seen += r.Seen
		}
		if w.checksum() != before || w.server.Requests() != asked || seen == 0 {
			t.Errorf("replays of %d items wrote something or sent %d requests", seen, w.server.Requests()-asked)
		}
		first := batches[0]
		for _, b := range batches {
			if b.Page == 1 && (b.Stats.Inserted > first.Stats.Inserted || first.Page != 1) {
				first = b
			}
		}
		w.replayElsewhere(fmt.Sprint(first.ID))
		w.replayUpstream(fmt.Sprint(first.ID))
		w.replayNow(fmt.Sprint(first.ID))
		lean := w.one("SELECT COUNT(*) FROM ing_lean_answer WHERE batch_id = " + fmt.Sprint(first.ID))
		if code, _, errText := w.patra("batch", "replay", fmt.Sprint(first.ID), "--raw-dir", t.TempDir()); lean != "1" || code != 0 {
			t.Errorf("of %s answers without items, and no files: exit %d: %s", lean, code, errText)
		}
		w.tamper(w.writable(), "DELETE FROM ing_lean_answer")
		if code, _, errText := w.patra("batch", "replay", fmt.Sprint(first.ID), "--raw-dir", t.TempDir()); code != 5 || !strings.Contains(errText, "any more") {
			t.Errorf("without its body: exit %d: %s", code, errText)
		}
	})
}

// replayUpstream changes a work of the batch upstream and looks who is blamed.
func (w *world) replayUpstream(id string) {
	w.t.Helper()
	before := w.checksum()
	if r := w.again(0, id, "--from", "upstream"); r.Requests != 1 {
		w.t.Errorf("%+v", r)
	}
	box, err := localstore.Beside(w.t, w.database).Box(w.t.Context(), mustID(w.t, id))
	if err != nil || len(box.Written) == 0 {
		w.t.Fatalf("batch %s wrote nothing, %v", id, err)
	}
	changed := box.Written[0].ID
	truth, ok := w.data.Lookup(changed)
	if !ok {
		w.t.Fatalf("%s is not upstream", changed)
	}
	if err := w.data.Touch(changed, truth.Indexed, true); err != nil {
		w.t.Fatal(err)
	}
	r := w.again(9, id, "--from", "upstream")
	if !r.Blames(blackbox.Source) || r.Blames(blackbox.Ours) || len(r.Records) != 1 || r.Records[0].ID != changed || r.Records[0].Change != blackbox.Changed {
		w.t.Errorf("%+v", r)
	}
	touched := slices.DeleteFunc(storetest.Touched(before, w.checksum()), func(table string) bool {
		return table == "ing_rate_member" // who asks takes its turn among the processes that share a rate
	})
	if len(touched) > 0 {
		w.t.Errorf("asking the upstream wrote something: %v", touched)
	}
}

func mustID(t *testing.T, text string) (id int64) {
	t.Helper()
	if _, err := fmt.Sscan(text, &id); err != nil {
		t.Fatal(err)
	}
	return id
}

// replayNow reads the batch under the source with one output field less.
func (w *world) replayNow(id string) {
	w.t.Helper()
	args := []string{id, "--spec", renamed(w.t, "patra-now")}
	for _, s := range w.settings {
		args = append(args, "--set", s)
	}
	before := w.checksum()
	r := w.again(9, args...)
	_, changed, _ := r.Count()
	if r.Blames(blackbox.Source) || changed == 0 || len(r.Records) != changed {
		w.t.Errorf("%+v", r)
	}
	for _, c := range r.Records {
		if len(c.Fields) != 1 || c.Fields[0].Name != "publisher" || c.Fields[0].Is != nil {
			w.t.Errorf("%+v", c)
		}
	}
	if w.checksum() != before {
		w.t.Error("reading under another source wrote something")
	}
}

// replayElsewhere exports the batch and replays it on a machine that has nothing
// but the program and the file.
func (w *world) replayElsewhere(id string) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "evidence.zip")
	var done struct{ Manifest blackbox.Manifest }
	if err := json.Unmarshal([]byte(w.must("batch", "export", id, "--out", file, "--reason", "for a colleague", "-o", "json")), &done); err != nil {
		w.t.Fatal(err)
	}
	elsewhere := filepath.Join(w.t.TempDir(), "empty", "patra.db")
	replay := func(want int, args ...string) string {
		w.t.Helper()
		var out, errText bytes.Buffer
		if code := cli.Main(w.t.Context(), append([]string{"batch", "replay", "--db", "sqlite:" + elsewhere}, args...), &out, &errText); code != want {
			w.t.Errorf("%v: exit %d, want %d: %s%s", args, code, want, &out, &errText)
		}
		return out.String() + errText.String()
	}
	asked := w.server.Requests()
	if text := replay(0, file, "--seal", done.Manifest.Seal); !strings.Contains(text, "identical") {
		w.t.Error(text)
	}
	replay(6, file, "--seal", strings.Repeat("0", 64))
	replay(2, file, "--from", "upstream")
	content, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(file, content, 0o600); err != nil {
		w.t.Fatal(err)
	}
	replay(6, file)
	if w.server.Requests() != asked {
		w.t.Error("a replay of a bundle asked the upstream")
	}
	if _, err := os.Stat(elsewhere); err == nil {
		w.t.Error("a database was made")
	}
}

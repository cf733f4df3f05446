package maintenance

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/driver/archive"
)

// tables are all that a test compares to tell whether anything was written.
var everything = append([]string{"ing_cursor_event", "ing_archive", "ing_archived_plan", "ing_upkeep_mark", "ing_audit_log"}, compared...)

func TestARehearsalTellsWhatIsDone(t *testing.T) {
	p := newPlace(t, aged(t))
	s, dry := p.service("me"), ingest.Act{Actor: "tester", Rehearsal: true}
	before := p.rows(everything...)
	would, err := s.Archive(t.Context(), policy, dry)
	p.must(err)
	wouldPrune, err := s.Prune(t.Context(), policy, dry)
	p.must(err)
	if !maps.Equal(before, p.rows(everything...)) || len(p.onDisk()) > 0 {
		t.Fatal("a rehearsal wrote something")
	}
	did, err := s.Archive(t.Context(), policy, tester)
	p.must(err)
	// The outbox is what holds versions, so a rehearsal that leaves it alone tells of fewer.
	pruned, err := s.Prune(t.Context(), policy, tester)
	p.must(err)
	if would.Events != did.Events || would.Plans != did.Plans || would.Rows != did.Rows || would.Cursors != did.Cursors || !reflect.DeepEqual(would.Held, did.Held) {
		t.Errorf("told %+v, did %+v", would, did)
	}
	if did.Plans != 5 || did.Cursors != 3 || did.Events == 0 || len(did.Files) == 0 {
		t.Errorf("did %+v", did)
	}
	if wouldPrune.Messages != pruned.Messages || pruned.Messages == 0 || wouldPrune.Versions+wouldPrune.Held != pruned.Versions || pruned.Versions == 0 {
		t.Errorf("told %+v, did %+v", wouldPrune, pruned)
	}
	var actions []string
	for _, row := range p.rows("ing_audit_log") {
		actions = append(actions, row)
	}
	if text := strings.Join(actions, "\n"); len(actions) != 2 || !strings.Contains(text, ArchiveDuty) || !strings.Contains(text, PruneDuty) || !strings.Contains(text, "because") {
		t.Errorf("audit log: %s", text)
	}
	if did, err = s.Archive(t.Context(), policy, tester); err != nil || did.Changed() {
		t.Errorf("a second run did %+v, %v", did, err)
	}
	if n := len(p.rows("ing_audit_log")); n != 2 {
		t.Errorf("%d audit entries: a run that does nothing leaves none", n)
	}
}

func TestPlansThatAreHeldStay(t *testing.T) {
	p := newPlace(t, aged(t))
	_, err := p.sql.Exec("UPDATE ing_outbox_message SET status_code = 'PENDING', published_at = NULL")
	p.must(err)
	did, err := p.service("me").Archive(t.Context(), policy, tester)
	p.must(err)
	if did.Plans != 0 || did.Held[retention.Unpublished] != 5 {
		t.Errorf("%+v", did)
	}
	too := policy
	too.Unpublished = true
	if did, err = p.service("me").Archive(t.Context(), too, tester); err != nil || did.Plans != 5 || len(did.Held) != 0 {
		t.Errorf("%+v, %v", did, err)
	}
	p.verified()
}

func TestWhatIsArchivedIsFound(t *testing.T) {
	p := newPlace(t, aged(t))
	batch, err := p.store.Batch(t.Context(), 3)
	p.must(err)
	s := p.service("me")
	_, err = s.Archive(t.Context(), policy, tester)
	p.must(err)
	if _, err := p.store.Batch(t.Context(), 3); !errors.Is(err, fault.ErrNotFound) {
		t.Fatal(err)
	}
	found, err := s.Find(t.Context(), retention.Link{Level: retention.AtBatch, ID: 3})
	p.must(err)
	if len(found) != 1 || len(found[0].Rows) != 2 {
		t.Fatalf("%+v", found)
	}
	got, err := retention.ReadBatch(found[0].Rows)
	p.must(err)
	if !reflect.DeepEqual(got, batch) {
		t.Errorf("from the file\n%+v, it was\n%+v", got, batch)
	}
	found, err = s.Find(t.Context(), retention.Link{Level: retention.AtPlan, ID: batch.PlanID})
	p.must(err)
	tables := map[retention.Table]bool{}
	for _, f := range found {
		for _, r := range f.Rows {
			tables[r.Table] = true
		}
	}
	for _, want := range []retention.Table{retention.PlanTable, retention.SliceTable, retention.TaskTable, retention.RunTable, retention.BatchTable, retention.EventTable} {
		if !tables[want] {
			t.Errorf("of plan %d nothing of %s was found", batch.PlanID, want)
		}
	}
	if found, err = s.Find(t.Context(), retention.Link{Level: retention.AtBatch, ID: 4711}); err != nil || len(found) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// What is in a file that is whole is found though another, which may have it too, is damaged
// or missing; the look still ends with an error, for it may have missed something.
func TestADamagedFileHidesNoOther(t *testing.T) {
	p := newPlace(t, aged(t))
	s := p.service("me")
	_, err := s.Archive(t.Context(), policy, tester)
	p.must(err)
	batch := retention.Link{Level: retention.AtBatch, ID: 3}
	whole, err := s.Find(t.Context(), batch)
	if err != nil || len(whole) != 1 {
		t.Fatal(whole, err)
	}
	_, err = p.sql.Exec("UPDATE ing_archive SET lineage = ? WHERE id <> ?", `{"batch":[1,9]}`, whole[0].Archive.ID)
	p.must(err)
	archives, err := p.store.Archives(t.Context(), 0, 100)
	p.must(err)
	for i, a := range archives {
		switch path := filepath.Join(p.files.Dir(), a.Name); {
		case a.ID == whole[0].Archive.ID:
		case i == 0:
			p.must(os.Remove(path))
		default:
			p.must(os.Truncate(path, 100))
		}
	}
	found, err := s.Find(t.Context(), batch)
	if len(found) != 1 || found[0].Archive.ID != whole[0].Archive.ID || len(found[0].Rows) != len(whole[0].Rows) {
		t.Errorf("found %+v", found)
	}
	if !errors.Is(err, archive.ErrDamaged) || !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if in, err := s.Context(t.Context(), 3); err != nil || in.Batch.ID != 3 {
		t.Errorf("%+v, %v", in, err)
	}
	if _, err := s.Context(t.Context(), 4711); err == nil {
		t.Error("a batch of no file")
	}
}

// Whatever becomes of a file is found: by its hash, by the refold, or by both.
func TestDamageIsFound(t *testing.T) {
	database := aged(t)
	for name, damage := range map[string]func(p *place, path string){
		"a file is gone": func(p *place, path string) { p.must(os.Remove(path)) },
		"a bit has flipped": func(p *place, path string) {
			text, err := os.ReadFile(path)
			p.must(err)
			text[len(text)/2] ^= 1
			p.must(os.WriteFile(path, text, 0o600))
		},
		"a file was cut short": func(p *place, path string) { p.must(os.Truncate(path, 100)) },
		"a file was written anew, and the database knows its hash": func(p *place, path string) {
			var rows []retention.Row
			p.must(p.files.Rows(p.Context(), retention.File{Name: filepath.Base(path)}, nil, func(r retention.Row) error {
				if !bytes.Contains(r.Columns, []byte(`"SUCCEEDED"`)) || len(rows) < 2 {
					rows = append(rows, r)
				}
				return nil
			}))
			p.must(os.Remove(path))
			f, err := p.files.Write(p.Context(), filepath.Base(path), func(yield func(retention.Row, error) bool) {
				for _, r := range rows {
					if !yield(r, nil) {
						return
					}
				}
			})
			p.must(err)
			_, err = p.sql.Exec("UPDATE ing_archive SET file_hash = ?, file_bytes = ? WHERE file_name = ?", f.SHA256, f.Bytes, f.Name)
			p.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, database)
			s := p.service("me")
			_, err := s.Archive(t.Context(), policy, tester)
			p.must(err)
			p.verified()
			archives, problems, err := s.Check(t.Context())
			if err != nil || len(problems) != 0 {
				t.Fatal(problems, err)
			}
			at := slices.IndexFunc(archives, func(a retention.Archive) bool { return a.Kind == retention.Events })
			cursor, err := p.store.Cursor(t.Context(), archives[at].CursorID)
			p.must(err)
			damage(p, filepath.Join(p.files.Dir(), archives[at].Name))
			_, found, err := s.VerifyArchivedEvents(t.Context(), cursor)
			p.must(err)
			if len(found) == 0 {
				t.Error("the refold of the files found nothing")
			}
			_, problems, err = s.Check(t.Context())
			if err != nil || len(problems) != 1 && !strings.Contains(name, "anew") {
				t.Errorf("%v, %v", problems, err)
			}
		})
	}
	t.Run("an event that stayed was changed", func(t *testing.T) {
		p := newPlace(t, database)
		s := p.service("me")
		_, err := s.Archive(t.Context(), policy, tester)
		p.must(err)
		_, err = p.sql.Exec("UPDATE ing_cursor_event SET actor = 'nobody' WHERE id = 1")
		p.must(err)
		cursor, err := p.store.Cursor(t.Context(), 1)
		p.must(err)
		if _, found, err := s.VerifyArchivedEvents(t.Context(), cursor); err != nil || len(found) == 0 {
			t.Errorf("%v, %v", found, err)
		}
	})
}

// A ledger that contradicts itself is evidence: it is not replaced by a snapshot.
func TestAContradictoryLedgerIsLeftAlone(t *testing.T) {
	p := newPlace(t, aged(t))
	_, err := p.sql.Exec("UPDATE ing_cursor_event SET as_of = as_of - 86400000000 WHERE id = 2")
	p.must(err)
	before := p.rows("ing_cursor_event")
	did, err := p.service("me").Archive(t.Context(), policy, tester)
	if err == nil || !strings.Contains(err.Error(), "contradicts itself") || !strings.Contains(err.Error(), "patra cursor verify 1") {
		t.Errorf("error %v", err)
	}
	if did.Cursors != 2 || did.Plans == 0 {
		t.Errorf("the others were not archived: %+v", did)
	}
	after := p.rows("ing_cursor_event")
	for key, cells := range before {
		if strings.Contains(cells, `'\x01' "PLANNED"`) && after[key] != cells {
			t.Errorf("%s changed", key)
		}
	}
	if cursor, err := p.store.ArchivesOf(t.Context(), 1); err != nil || len(cursor) != 0 {
		t.Errorf("%+v, %v", cursor, err)
	}
	archives, err := p.store.Archives(t.Context(), 0, 100)
	p.must(err)
	for _, a := range archives {
		if a.Status != retention.Done {
			t.Errorf("archive %+v was left behind", a)
		}
	}
}

func TestOnlyOneAtATime(t *testing.T) {
	p := newPlace(t, aged(t))
	_, held, err := p.store.AcquireLease(t.Context(), leaseName, "other", time.Minute)
	if err != nil || !held {
		t.Fatal(held, err)
	}
	if _, err := p.service("me").Archive(t.Context(), policy, tester); !errors.Is(err, ErrBusy) || !errors.Is(err, fault.ErrConflict) {
		t.Errorf("archive: %v", err)
	}
	if _, err := p.service("me").Prune(t.Context(), policy, tester); !errors.Is(err, ErrBusy) {
		t.Errorf("prune: %v", err)
	}
	if len(p.onDisk()) > 0 {
		t.Error("something was written")
	}
}

func TestNothingIsDoneUnlessItIsSaid(t *testing.T) {
	p := newPlace(t, aged(t))
	s, before := p.service("me"), p.rows(everything...)
	for name, policy := range map[string]retention.Policy{
		"no policy": {}, "an hour": {Archive: time.Hour}, "negative": {Versions: -time.Hour, Outbox: day}, "no versions at all": {Versions: day, MinVersions: -1},
	} {
		_, err := s.Archive(t.Context(), policy, tester)
		_, too := s.Prune(t.Context(), policy, tester)
		if !errors.Is(err, fault.ErrInvalid) || !errors.Is(too, fault.ErrInvalid) {
			t.Errorf("%s: %v, %v", name, err, too)
		}
	}
	if _, err := New(p.store, nil, Config{}, slog.New(slog.DiscardHandler)).Archive(t.Context(), policy, tester); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("without a folder: %v", err)
	}
	if !maps.Equal(before, p.rows(everything...)) {
		t.Error("something was written")
	}
}

// A process that serves does it once a day, whoever did it last.
func TestRunOnceADay(t *testing.T) {
	p := newPlace(t, aged(t))
	p.now = noon
	s, other := p.service("one"), p.service("two")
	s.runDue(t.Context(), policy)
	if len(p.rows("ing_audit_log")) != 2 {
		t.Fatal("the first look did nothing")
	}
	runs := p.rows("ing_upkeep_mark")
	p.now = noon.Add(23 * time.Hour)
	other.runDue(t.Context(), policy)
	if !maps.Equal(runs, p.rows("ing_upkeep_mark")) {
		t.Error("it was done again after 23 hours")
	}
	p.now = noon.Add(25 * time.Hour)
	other.runDue(t.Context(), policy)
	if maps.Equal(runs, p.rows("ing_upkeep_mark")) {
		t.Error("it was not done after a day")
	}
}

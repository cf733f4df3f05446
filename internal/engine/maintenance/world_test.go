package maintenance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/archive"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

const day = 24 * time.Hour

var noon = time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC)

// place is a database file with its archives, a clock, and a way to die.
type place struct {
	*testing.T
	dir   string
	now   time.Time
	later atomic.Int64 // how far the clock was put on while others read it
	store *store.Store
	files *archive.Store
	sql   *sql.DB

	steps  atomic.Int64 // that were done
	dieAt  int          // the step after which the process is killed; 0 lives
	died   atomic.Bool
	cancel context.CancelFunc
}

var errKilled = errors.New("killed")

func newPlace(t *testing.T, database []byte) *place {
	t.Helper()
	p := &place{T: t, dir: t.TempDir(), now: noon}
	if database != nil {
		p.must(os.WriteFile(p.file(), database, 0o600))
	} else {
		localstore.Place(t, p.file())
	}
	p.open()
	return p
}

func (p *place) file() string { return filepath.Join(p.dir, "patra.db") }

func (p *place) open() {
	p.Helper()
	var err error
	p.store, err = sqlite.Open(p.Context(), sqlite.Config{Path: p.file(), Relaxed: true}, store.Options{
		Clock: func() time.Time { return p.now.Add(time.Duration(p.later.Load())) }, AfterCommit: func(string) error { return p.step() },
	})
	p.must(err)
	p.Cleanup(func() { p.store.Close() })
	p.files, err = archive.Open(filepath.Join(p.dir, "archive"))
	p.must(err)
	p.files.CrashAfter = func(string) error { return p.step() }
	p.sql, err = sql.Open("sqlite", "file:"+p.file()+"?_pragma=busy_timeout(60000)")
	p.must(err)
	p.Cleanup(func() { p.sql.Close() })
}

// step counts what survives a kill. Once killed, nothing more is done.
func (p *place) step() error {
	if p.died.Load() {
		return errKilled
	}
	if n := p.steps.Add(1); p.dieAt != 0 && int(n) == p.dieAt {
		p.died.Store(true)
		p.cancel()
		return errKilled
	}
	return nil
}

// mortal is the store of a process that may be dead: a dead one gives nothing back.
type mortal struct {
	*store.Store
	died *atomic.Bool
}

func (m mortal) ReleaseLease(ctx context.Context, name, owner string, epoch int64) error {
	if m.died.Load() {
		return errKilled
	}
	return m.Store.ReleaseLease(ctx, name, owner, epoch)
}

func (p *place) service(owner string) *Service {
	return New(mortal{p.store, &p.died}, p.files, Config{Owner: owner}, slog.New(slog.DiscardHandler))
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// harvest plans whole days of one source and reads them, a page of records a day.
func (p *place) harvest(source, trigger string, first, days int, asOf time.Time, content string) int64 {
	p.Helper()
	ctx := context.WithoutCancel(p.Context())
	dataset := ingest.Dataset{Source: source, Endpoint: "works"}
	whole := window.Window{From: march(first), To: march(first + days)}
	id, err := p.store.RecordTrigger(ctx, ingest.Trigger{Key: fingerprint.Key(source, trigger), Scheduler: "cron", Type: ingest.TriggerSchedule, At: p.now, Source: source})
	p.must(err)
	key := fingerprint.Key(source, trigger, "plan")
	part := ingest.Partition{Dataset: dataset, Operation: ingest.Harvest}
	plan, _, err := p.store.OpenPlan(ctx, ingest.NewPlan{
		Key: key, ScheduleID: id, Partition: part, Window: whole, AsOf: asOf, Owed: []window.Window{whole},
		Namespace:     ingest.HarvestNamespace(dataset, "indexed", fingerprint.Key("all")),
		ExprProtoHash: fingerprint.Key("all"), MappingHash: fingerprint.Key("mapping"), SpecFingerprint: fingerprint.Key("spec", source), Spec: []byte(`{}`),
		ConfigHash: fingerprint.Key("config"), Strategy: "TIME", SliceParams: []byte(`{}`),
	})
	p.must(err)
	var slices []ingest.NewSlice
	for i := range days {
		w := window.Window{From: march(first + i), To: march(first + i + 1)}
		slices = append(slices, ingest.NewSlice{No: i + 1, Signature: fingerprint.Key(source, w.String()), Window: w, Spec: []byte(`{}`),
			ExprHash: fingerprint.Key(w.String()), TaskKey: fingerprint.Key(key, w.String()), Priority: 10})
	}
	p.must(p.store.AddSlices(ctx, plan.ID, slices, true))
	for i := range days {
		p.read(part, fmt.Sprintf("%s-%s-%d", source, content, i), i)
	}
	return plan.ID
}

func march(day int) time.Time { return time.Date(2025, 3, day, 0, 0, 0, 0, time.UTC) }

func (p *place) read(part ingest.Partition, content string, no int) {
	p.Helper()
	ctx := context.WithoutCancel(p.Context())
	var partition int64
	p.must(p.sql.QueryRow("SELECT id FROM ing_partition WHERE provenance_code = ?", part.Source).Scan(&partition))
	work, err := p.store.Claim(ctx, ingest.ClaimRequest{PartitionID: partition, Owner: "worker", Token: content, Lease: time.Minute, Max: 1})
	p.must(err)
	run, err := p.store.StartRun(ctx, work[0], time.Minute)
	p.must(err)
	w := work[0]
	w.Lineage.RunID = run.ID
	item := record.Incoming{ProviderID: fmt.Sprint("record ", no), UpdatedAt: p.now, ContentHash: record.DigestOf([]byte(content)), FetchAt: p.now, MappingID: 1, Payload: []byte(content)}
	_, err = p.store.CommitBatch(ctx, ingest.BatchCommit{
		Lease: w.Lease, Extend: time.Minute, Lineage: w.Lineage, Partition: w.Partition, DatasetID: w.DatasetID, ExprID: w.ExprID, No: 1, Pass: 1, PageNo: 1,
		BeforeToken: "\xfftoken", Records: []record.Incoming{item}, Seen: 1, Request: []byte(`{"url":"x"}`), Response: []byte(`{"status":200}`),
	})
	p.must(err)
	p.must(p.store.FinishRun(ctx, ingest.Finish{Lease: w.Lease, Lineage: w.Lineage, Outcome: ingest.Outcome{Task: ingest.TaskSucceeded, Run: ingest.RunSucceeded}}))
	p.now = p.now.Add(time.Hour)
}

// aged is a database with a year of history: three sources, two of them read
// twice, all published, and a plan of today.
func aged(t *testing.T) []byte {
	p := newPlace(t, nil)
	p.now = noon.Add(-200 * day)
	for _, source := range []string{"a", "b"} {
		p.harvest(source, "1", 1, 4, march(5), "first")
		p.now = p.now.Add(20 * day)
		p.harvest(source, "2", 1, 6, march(19), "second")
	}
	p.harvest("c", "1", 1, 2, march(5), "first")
	p.now = noon
	p.harvest("a", "3", 6, 2, march(20), "third")
	_, err := p.sql.Exec("UPDATE ing_outbox_message SET status_code = 'PUBLISHED', published_at = created_at")
	p.must(err)
	p.must(p.store.Close())
	if _, err := p.sql.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	p.must(p.sql.Close())
	out, err := os.ReadFile(p.file())
	p.must(err)
	return out
}

// rows reads tables round the store: table and id → its cells.
func (p *place) rows(tables ...string) map[string]string {
	p.Helper()
	out := map[string]string{}
	for _, table := range tables {
		rows, err := p.sql.Query("SELECT * FROM " + table)
		p.must(err)
		names, err := rows.Columns()
		p.must(err)
		values, targets := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		for rows.Next() {
			p.must(rows.Scan(targets...))
			key := fmt.Sprintf("%s/%v", table, values[0])
			if table == "ing_coverage" {
				key += fmt.Sprint("/", values[1])
			}
			if table == "ing_record" {
				key += fmt.Sprintf("/%x", values[1])
			}
			out[key] = fmt.Sprintf("%q", values)
		}
		p.must(rows.Err())
		rows.Close()
	}
	return out
}

var treeTables = []string{"ing_plan", "ing_plan_slice", "ing_reslice_request", "ing_task", "ing_task_run", "ing_task_run_batch", "ing_batch_evidence"}

// filed are the rows in sealed files: table and id → how often.
func (p *place) filed() map[string]int {
	p.Helper()
	out := map[string]int{}
	archives, err := p.store.Archives(context.WithoutCancel(p.Context()), 0, 1000)
	p.must(err)
	for _, a := range archives {
		if a.Status == retention.Writing {
			continue
		}
		p.must(p.files.Rows(context.Background(), a.File, nil, func(r retention.Row) error {
			out[fmt.Sprintf("%s/%d", r.Table, r.ID)]++
			return nil
		}))
	}
	return out
}

// onDisk are the names in the folder of archives.
func (p *place) onDisk() (out []string) {
	p.Helper()
	entries, err := os.ReadDir(p.files.Dir())
	if err != nil {
		return nil
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// verified refolds every ledger, from its snapshot and from its files.
func (p *place) verified() {
	p.Helper()
	ctx := context.WithoutCancel(p.Context())
	cursors, err := p.store.Cursors(ctx, "")
	p.must(err)
	for _, c := range cursors {
		verdict, err := p.store.Verify(ctx, c.ID)
		p.must(err)
		_, problems, err := p.service("verifier").VerifyArchivedEvents(ctx, c)
		p.must(err)
		if all := append(verdict.Problems, problems...); len(all) > 0 {
			p.Fatalf("cursor %d: %s", c.ID, strings.Join(all, "\n"))
		}
	}
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

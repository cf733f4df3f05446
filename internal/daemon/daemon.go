// Package daemon wires the program together: it opens the store, builds the
// transport chain, the planner and the executor, and runs them. The command
// line and the tests start the same type.
//
// It holds no rule of its own; whoever looks for one finds it below. It gives nobody
// the store or another driver: what people list, show and change stands in small types
// by topic, and comes as values of the core.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/driver/blob"
	"github.com/patra-ingest/patra/internal/driver/filecopy"
	"github.com/patra-ingest/patra/internal/driver/redisgate"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/mysql"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/engine/executor"
	"github.com/patra-ingest/patra/internal/engine/heal"
	"github.com/patra-ingest/patra/internal/engine/inspect"
	"github.com/patra-ingest/patra/internal/engine/memory"
	"github.com/patra-ingest/patra/internal/engine/operate"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/surface/metrics"
)

// Config is what an operator decides.
type Config struct {
	Database string        // sqlite:FILE, mysql://user:password@host:port/database, or a reference to one
	Workers  int           // tasks worked on at once (default 4)
	Lease    time.Duration // how long a task is ours without a sign of life (default 60 s)
	Memory   int64         // bytes that large answers of all tasks share (default MemoryBytes)
	Relaxed  bool          // SQLite: risk the newest commits in a power cut
	Log      *slog.Logger
	// Warn is told what an operator should know before anything is opened; nil: the log is.
	Warn func(text string)
	// MaxStock is how many tasks of one source, endpoint and operation may wait
	// before planning pauses (default 20,000).
	MaxStock int
	// RegistryTTL is how long a source is used without asking the database
	// whether it changed (§3.7). Zero asks every time, with one small query.
	RegistryTTL time.Duration
	// Gate is the address of a Redis server through which several processes share
	// the rates (redis://…), or a reference to one. Without it they
	// agree in the database.
	Gate string
	// Raw says where the bodies of answers are kept, and how long.
	Raw RawConfig
	// FilesDir is where files are copied to while they are read. It belongs to this machine.
	FilesDir string
	// Archive says where history goes that leaves the database, and when.
	Archive ArchiveConfig
	// Events says who gets the events of changed records.
	Events     event.Declaration
	EventsFile string // where Events stands, for whoever has to type its name
	// Installed is what this machine allows to source files, and who runs it.
	Installed Installed
	// Metrics says whether the process counts what it does, and who may read it.
	Metrics MetricsConfig
	// Entrance says where the HTTP interface is, and who comes in.
	Entrance EntranceConfig
	// Spans records what the work tells about its course; nil: nobody does. See TraceTo.
	Spans span.Recorder
	// Clock replaces the store's clock; for tests.
	Clock func() time.Time
	// MustExist: the command only reads, so a missing file is an error.
	MustExist bool
	// SkipSchema leaves the schema alone, whatever it is: `db migrate` looks at it itself.
	SkipSchema bool
}

// MemoryBytes is what large answers share unless told otherwise: enough for the largest
// that a source may send by default, one at a time.
const MemoryBytes = 512_000_000

// WithDefaults fills what was left open.
func (c Config) WithDefaults() Config {
	if c.Database == "" {
		c.Database = "sqlite:patra.db"
	}
	if c.Lease == 0 {
		c.Lease = time.Minute
	}
	c.FilesDir = cmp.Or(c.FilesDir, defaultFilesDir(c.Database))
	c.Workers = cmp.Or(c.Workers, c.Installed.Work.Workers, 4)
	if c.Memory == 0 {
		c.Memory = MemoryBytes
	}
	c.MaxStock = cmp.Or(c.MaxStock, c.Installed.Work.MaxWaiting, 20_000)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Raw = c.Raw.withDefaults(c.Database)
	c.Archive = c.Archive.withDefaults(c.Database)
	return c
}

// App is the running program.
type App struct {
	Planner  *planner.Planner
	Operator *operate.Operator  // what operators do to sources, tasks and records
	Inspect  *inspect.Inspector // answers what people ask about the state of the work
	// What people list, show and change, by topic.
	Plans       *Plans
	Tasks       *Tasks
	Conditions  *Conditions
	Cursors     *Cursors
	Campaigns   *Campaigns
	Quarantine  *Quarantine
	Events      *Events
	Alerts      *Alerts
	Records     *Records
	Definitions *Definitions
	History     *History
	Replays     *Replays
	Bodies      *Bodies
	Tokens      *Tokens
	Exports     *Exports

	store     *store.Store
	config    Config
	gate      *rategate.Local
	shared    *redisgate.Gate // nil without a server
	executor  *executor.Executor
	health    *heal.Conditions          // of what the executor works on
	raw       *blob.Store               // nil where no bodies are kept
	leanSwept atomic.Pointer[time.Time] // when this process last removed old lean answers
	files     *filecopy.Folder          // copies of files while they are read
	registry  *registryCache
	waits     *consentWaits // what waits for consent
	guard     *Guard        // of what source files want of this machine
	// replaying is the room for replays that surfaces asked for.
	replaying chan struct{}
	parts     *planner.Campaigns
	stops     *stops         // what ended the work on partitions early
	counted   atomic.Int64   // requests that only counted
	meter     *metrics.Meter // nil where nothing is counted
	identity  ingest.Process
	planning  sync.Mutex // one call plans at a time; other processes are kept out by a lease
	single    bool       // the store takes one executor process
	patient   bool       // serves: waits where others end
	created   bool       // the database was empty before we came
	// attendance is whether we are one of those who share the limits.
	attendance *attendance
}

// Open opens the database and wires everything. A SQLite file that is not there, or has no
// tables, gets its schema; any other database that is behind is refused until `db migrate`.
func Open(ctx context.Context, c Config) (*App, error) {
	c, err := c.revealAddresses(ctx)
	if err != nil {
		return nil, err
	}
	c = c.WithDefaults()
	c.warnOfLinks()
	db, err := openStore(ctx, c)
	if err != nil {
		return nil, err
	}
	a := &App{store: db, config: c, registry: newRegistryCache(c.RegistryTTL, c.Installed), guard: newGuard(c.Installed, db), replaying: make(chan struct{}, mostReplays), single: db.Dialect() == "sqlite", identity: processIdentity(time.Now()), stops: newStops()}
	a.guard.alone = a.takeTurn
	a.files = filecopy.New(c.FilesDir)
	a.waits = newConsentWaits(a)
	a.gate = rategate.NewCounted(db, quotaHolder(a.identity.ID))
	a.gate.Agree(db, c.Gate != "")
	a.attendance = newAttendance(a)
	if !c.SkipSchema {
		if err := a.prepareSchema(ctx); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	if a.raw, err = openRaw(c); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := a.joinGate(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	chain := a.guard.requestChain(a.requestGate())
	a.Planner, a.Operator = planner.New(db), operate.New(db)
	a.Planner.Estimator, a.Planner.MaxStock = probing{newEstimator(countedCalls{chain, &a.counted}, db), a}, c.MaxStock
	a.Planner.Spans = c.Spans
	a.parts = planner.NewCampaigns(a.Planner, db)
	a.Inspect = newInspector(a)
	a.offerTopics(db)
	a.health, a.meter = heal.New(db, a.identity.ID, c.Log), meterOf(c.Metrics)
	a.executor = executor.New(db, chain, a.keptBodies(), executor.Config{Lease: c.Lease, Health: a.health, Memory: memory.New(c.Memory), LogSample: c.Installed.Log.Sample, Meter: a.executorMeter(), Rates: newCurrentRates(a).ratesNow, Files: fileFolder{a.files}, WholeAnswers: c.Raw.Whole, Answers: a.answers()}, c.Log)
	return a, nil
}

// offerTopics gives people what they list, show and change, by topic.
func (a *App) offerTopics(db *store.Store) {
	a.Plans, a.Tasks, a.Conditions = &Plans{db}, &Tasks{db}, &Conditions{db}
	a.Cursors, a.Campaigns = &Cursors{operate.NewCursors(db), db}, &Campaigns{operate.NewCampaigns(db), db}
	a.Quarantine, a.Events = &Quarantine{operate.NewQuarantine(db), db}, &Events{operate.NewOutbox(db), db}
	a.Alerts = &Alerts{operate.NewAlerts(db), db}
	a.Records, a.Definitions, a.History = &Records{db}, &Definitions{db}, &History{db}
	a.Replays, a.Bodies = &Replays{a}, &Bodies{a.answers(), a.config.Raw}
	a.Tokens, a.Exports = &Tokens{db}, newExports(a)
}

// Now reads the store's clock: the one that judges leases (D§5.2).
func (a *App) Now(ctx context.Context) (time.Time, error) { return a.store.Now(ctx) }

// Close closes the database and the bodies.
func (a *App) Close() error {
	a.attendance.closeForGood()
	a.letPlan()
	if a.shared != nil {
		a.shared.Close()
	}
	a.returnQuotas()
	if a.raw != nil {
		a.raw.Close()
	}
	return a.store.Close()
}

// letPlan takes back what this process kept planners waiting for.
func (a *App) letPlan() {
	if a.health == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	a.health.Close(ctx)
}

func openStore(ctx context.Context, c Config) (*store.Store, error) {
	scheme, rest, _ := strings.Cut(c.Database, ":")
	switch scheme {
	case "sqlite":
		if rest == "" {
			return nil, fmt.Errorf("%w: database %q names no file: use sqlite:FILE", fault.ErrInvalid, c.Database)
		}
		if err := c.refuseEmptyFile(rest); err != nil {
			return nil, err
		}
		return sqlite.Open(ctx, sqlite.Config{Path: rest, MustExist: c.MustExist, Relaxed: c.Relaxed, Log: c.Log}, store.Options{Clock: c.Clock})
	case "mysql":
		return mysql.Open(ctx, c.Database, store.Options{Clock: c.Clock})
	}
	return nil, fmt.Errorf("%w: database must be sqlite:FILE or mysql://user:password@host:port/database", fault.ErrInvalid)
}

// Advise says what to do about an error that comes from a damaged database, if it does not
// say so yet.
func Advise(err error) error { return sqlite.Advise(err) }

// ErrEmptyFile means that the file of a database is there, and has no content.
var ErrEmptyFile = errors.New("the database file is empty")

// refuseEmptyFile refuses a file of 0 bytes, unless it is to get a schema: it may have held
// data before, and a harvest would begin anew without a word. It is called before SQLite opens
// the file, which gives it a header.
func (c Config) refuseEmptyFile(file string) error {
	found, err := os.Stat(file)
	if err != nil || !found.Mode().IsRegular() || found.Size() > 0 || c.SkipSchema && !c.MustExist {
		return nil // of a file that cannot be looked at, opening tells
	}
	sign := ""
	if kept, err := os.Stat(file + ".raw"); err == nil && kept.IsDir() {
		sign = fmt.Sprintf(" (it probably did: kept answers lie beside it in %s.raw)", file)
	}
	return fmt.Errorf("%w: %s has 0 bytes, so nothing is stored in it. If it held data before%s, put a copy of it in its place. To begin with a new database in it, run `patra db migrate`", ErrEmptyFile, file, sign)
}

// Created returns the whole path of a database file that this process made; empty if it
// was there before.
func (a *App) Created() string {
	if !a.created {
		return ""
	}
	file := strings.TrimPrefix(a.config.Database, "sqlite:")
	if whole, err := filepath.Abs(file); err == nil {
		return whole
	}
	return file
}

// ErrBehind means that the schema must be migrated first.
var ErrBehind = errors.New("database schema is behind this program")

// prepareSchema checks the schema and brings the codes of this program, which may be
// newer than the one that migrated. Whoever only reads writes nothing.
func (a *App) prepareSchema(ctx context.Context) error {
	if err := a.checkSchema(ctx); err != nil || a.config.MustExist {
		return err
	}
	_, err := a.store.SeedDictionary(ctx, dictionary.All())
	return err
}

func (a *App) checkSchema(ctx context.Context) error {
	status, err := a.store.Schema(ctx)
	if err != nil || len(status.Pending) == 0 {
		return err
	}
	if status.Empty && a.single && !a.config.MustExist {
		_, err := a.store.Migrate(ctx)
		a.created = err == nil
		return err
	}
	if status.Current == 0 && !status.Empty {
		return fmt.Errorf("%w: it holds tables of another program; name another database with --db, or share it with `patra db migrate`", ErrBehind)
	}
	return fmt.Errorf("%w: it has version %d, version %d is needed: run `patra db migrate`", ErrBehind, status.Current, status.Latest)
}

// processIdentity names this process in leases. The start time comes first, so that the
// oldest process of a store sorts first.
func processIdentity(start time.Time) ingest.Process {
	host := hostHere()
	return ingest.Process{
		ID: fmt.Sprintf("%x-%s-%d", start.UnixMicro(), host, os.Getpid()), Roles: "executor", Host: host, PID: os.Getpid(),
	}
}

package term

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/patra-ingest/patra/internal/daemon"
)

// Version is set by the build.
var Version = "dev"

// Env is what every command shares: where output goes and the global flags.
type Env struct {
	Out, Err io.Writer
	Output   string // table or json
	Database string
	RawDir   string // of commands that read bodies of answers

	ArchiveDir string // of commands that read or write archives
	ConfigFile string // patra.yaml, if it was named
	Installed  daemon.Installed
	Verbose    bool
	Colour     bool // status words in colours: stdout is a terminal that has them
	Quiet      bool
	Log        LogFlags
	warned     []string // what this command has warned of
}

func EnvOr(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func (e *Env) CheckFlags() error {
	if e.Output != "table" && e.Output != "json" {
		return Usagef("unknown output %q: use table or json", e.Output)
	}
	if e.Database == "" {
		e.Database = EnvOr("PATRA_DB", "sqlite:patra.db")
	}
	if !strings.Contains(e.Database, ":") {
		return Usagef("--db %q: write sqlite:%s, or mysql://user:password@host:port/database", e.Database, e.Database)
	}
	if err := e.openLog(); err != nil {
		return err
	}
	return e.readInstalled()
}

// Open opens the database for commands that change it.
func (e *Env) Open(ctx context.Context, change func(*daemon.Config)) (*daemon.App, error) {
	config := daemon.Config{Database: e.Database, Log: e.Logger(), Warn: e.WarnOnce, Raw: daemon.RawConfig{Dir: RawDir(e.RawDir)},
		Archive: daemon.ArchiveConfig{Dir: ArchiveDir(e.ArchiveDir)}, Installed: e.Installed}
	if change != nil {
		change(&config)
	}
	app, err := daemon.Open(ctx, config)
	if err == nil {
		e.HintNewDatabase(app)
	}
	return app, err
}

// OpenToRead opens the database for commands that only read: nothing is created.
func (e *Env) OpenToRead(ctx context.Context) (*daemon.App, error) {
	return e.Open(ctx, func(c *daemon.Config) { c.MustExist = true })
}

// Hint writes a line for people, unless they asked for silence.
func (e *Env) Hint(format string, args ...any) {
	if !e.Quiet {
		fmt.Fprintln(e.Err, Printable(fmt.Sprintf(format, args...)))
	}
}

// HintNewDatabase says that a database was made: whoever meant another one sees it at once. It says
// so also to those who asked for silence: in cron nothing else shows that a folder is not mounted.
func (e *Env) HintNewDatabase(app *daemon.App) {
	if file := app.Created(); file != "" {
		fmt.Fprintln(e.Err, Printable("created a new database at "+file))
	}
}

package term

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/daemon"
)

// LogFlags say how and where this process logs. Empty: as fits the command.
type LogFlags struct {
	Format, Level, File string
	opened              *logFile // of the flag
}

// Flags adds the flags.
func (f *LogFlags) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&f.Format, "log-format", "", "text or json (default text; json for serve, unless stderr is a terminal)")
	flags.StringVar(&f.Level, "log-level", "", "lowest level that is logged: debug, info, warn or error (default info for serve and in a file, else error)")
	flags.StringVar(&f.File, "log-file", "", "file that log lines are added to; serve opens it again on SIGHUP")
}

// openLog checks the flags and opens the file: a log that cannot be written is told
// before any work begins.
func (e *Env) openLog() (err error) {
	if !slices.Contains(config.LogFormats, e.Log.Format) && e.Log.Format != "" {
		return Usagef("--log-format: unknown format %q: use %s", e.Log.Format, strings.Join(config.LogFormats, " or "))
	}
	if !slices.Contains(config.LogLevels, e.Log.Level) && e.Log.Level != "" {
		return Usagef("--log-level: unknown level %q: use %s", e.Log.Level, strings.Join(config.LogLevels, ", "))
	}
	if e.Log.File == "" {
		return nil
	}
	if e.Log.opened, err = openLogFile(e.Log.File, e.Err); err != nil {
		return Usagef("--log-file: %v", err)
	}
	return nil // it is closed with the process
}

// levelNamed returns a level of config.LogLevels.
func levelNamed(name string) (level slog.Level) {
	_ = level.UnmarshalText([]byte(name)) // it is one of the list
	return level
}

// Logger tells everything to those who want it, and alarms to everybody: whoever
// harvests by hand must hear that the source was stopped.
func (e *Env) Logger() *slog.Logger {
	level := slog.LevelError
	if e.Log.opened != nil {
		level = slog.LevelInfo
	}
	switch {
	case e.Log.Level != "":
		level = levelNamed(e.Log.Level)
	case e.Verbose:
		level = slog.LevelDebug
	}
	switch {
	case e.Log.opened != nil:
		return slog.New(slog.NewMultiHandler(newHandler(e.Log.opened, e.Log.Format, level), byHand{newHandler(e.Err, config.LogText, slog.LevelError)}))
	case e.Log.Level == "" && !e.Verbose:
		return slog.New(byHand{newHandler(e.Err, e.Log.Format, level)})
	}
	return NewLog(e.Err, e.Log.Format, level)
}

// byHand is the log of a command that was not asked for one. It leaves out what the
// command tells anyway when it ends.
type byHand struct{ slog.Handler }

func (h byHand) Handle(ctx context.Context, r slog.Record) error {
	if daemon.IsToldAtTheEnd(r) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h byHand) WithAttrs(more []slog.Attr) slog.Handler { return byHand{h.Handler.WithAttrs(more)} }
func (h byHand) WithGroup(name string) slog.Handler      { return byHand{h.Handler.WithGroup(name)} }

// ServeLogger is for a process without a terminal: it says what it does unless told to
// be quiet. A flag wins over patra.yaml. Stop ends listening for the signal that opens
// the file anew.
func (e *Env) ServeLogger() (log *slog.Logger, stop func(), err error) {
	told := e.Installed.Log
	if e.Log.Format != "" {
		told.Format = e.Log.Format
	}
	level := slog.LevelInfo
	switch {
	case e.Log.Level != "":
		level = levelNamed(e.Log.Level)
	case e.Verbose:
		level = slog.LevelDebug
	case e.Quiet:
		level = slog.LevelWarn
	case told.Level != "":
		level = levelNamed(told.Level)
	}
	file := e.Log.opened
	if file == nil && told.File != "" {
		if file, err = openLogFile(told.File, e.Err); err != nil {
			return nil, nil, Usagef("log.file of %s: %v", e.Installed.File, err)
		}
	}
	if told.Format == "" && (file != nil || !IsTerminal(e.Err)) {
		told.Format = config.LogJSON
	}
	if file == nil {
		return NewLog(e.Err, told.Format, level), func() {}, nil
	}
	log = NewLog(file, told.Format, level)
	return log, reopenOnHangup(file, log), nil
}

// reopenOnHangup opens the file anew when SIGHUP comes, as tools that rotate logs expect.
func reopenOnHangup(file *logFile, log *slog.Logger) (stop func()) {
	hangups, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-hangups:
			}
			if err := file.reopen(); err != nil {
				log.Warn("the log file could not be opened anew; lines go on into the one that was open", "file", file.path, "error", err)
				continue
			}
			log.Info("log file opened anew", "file", file.path)
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(ended)
	}
}

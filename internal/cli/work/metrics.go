package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/daemon"
)

// NewMetrics makes the command that prints the metrics of stored rows once.
func NewMetrics(e *term.Env) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "metrics",
		Short: "Print the metrics of stored rows once, as text for Prometheus",
		Long: `Print metrics that are computed from the database: lag of watermarks, gaps, queue,
quotas, events, findings. They agree with patra status, which reads the same rows.

It is for installations where harvests run by cron: the textfile collector of
node_exporter reads files that end in .prom. With --file the file is replaced in one
step, so that no half of it is ever read. What a process counts while it works is
shown by patra serve --metrics-listen, and written by --metrics-file of patra
harvest, backfill and update. docs/metrics.md lists the metrics.`,
		Example: `  patra metrics
  patra metrics --file /var/lib/node_exporter/textfile/patra.prom`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				write := func(w io.Writer) error { return app.WriteMetrics(cmd.Context(), w, term.Version) }
				if file == "" {
					return write(e.Out)
				}
				return replaceFile(file, write)
			})
		},
	}
	c.Flags().StringVar(&file, "file", "", "write to this file instead of stdout, in one step")
	return c
}

// metricsFile is where a command that works leaves its metrics at the end.
type metricsFile struct{ path string }

func (f *metricsFile) addFlag(c *cobra.Command) {
	c.Flags().StringVar(&f.path, "metrics-file", "", "write the metrics of this "+c.Name()+" to a file at the end, for the textfile collector of node_exporter (FILE.prom)")
}

// prepare switches counting on, and finds out before the work whether the file can be
// written.
func (f metricsFile) prepare(c *daemon.Config) error {
	if f.path == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(f.path)); err != nil || !info.IsDir() {
		return term.Usagef("--metrics-file %s: there is no folder %s", f.path, filepath.Dir(f.path))
	}
	c.Metrics = daemon.MetricsConfig{On: true, Version: term.Version}
	return nil
}

// lastMetrics is how long work that was interrupted may still take to write them.
const lastMetrics = 5 * time.Second

// writeMetrics writes how the work went, also if it failed or was interrupted: that is
// when somebody wants to see it. The file of a harvest also says how its source stands; if
// that of a backfill did so too, their reader would find each series twice.
func (f metricsFile) writeMetrics(ctx context.Context, app *daemon.App, source string, op ingest.Operation) error {
	if f.path == "" {
		return nil
	}
	if op != ingest.Harvest {
		return replaceFile(f.path, func(w io.Writer) error { return app.WriteOperationMetrics(w, source, op) })
	}
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastMetrics)
		defer cancel()
	}
	return replaceFile(f.path, func(w io.Writer) error { return app.WriteSourceMetrics(ctx, w, source) })
}

// replaceFile writes a file beside the one that is there and renames it at the end:
// whoever reads it meanwhile reads the old one whole. Others may read it, as collectors
// run under a user of their own.
func replaceFile(path string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".patra-metrics-*") // not .prom: nobody reads it
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
			err = fmt.Errorf("the metrics could not be written to %s: %w", path, err)
		}
	}()
	if err = errors.Join(write(file), file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

package daemon

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/executor"
	"github.com/patra-ingest/patra/internal/surface/metrics"
)

// MetricsConfig says whether the process counts what it does, and who may read it.
type MetricsConfig struct {
	On      bool   // count; off, it costs nothing
	Version string // of the program, for build_info
	Listen  ListenConfig
}

// meterOf returns what counts in this process; nil where nothing is counted.
func meterOf(c MetricsConfig) *metrics.Meter {
	if !c.On {
		return nil
	}
	return metrics.NewMeter()
}

// executorMeter returns the meter as the executor wants it: no meter is no interface.
func (a *App) executorMeter() executor.Meter {
	if a.meter == nil {
		return nil
	}
	return a.meter
}

// countTakeovers counts tasks that were taken back from workers without a sign of life.
func (a *App) countTakeovers(n int) {
	if a.meter != nil {
		a.meter.NoteTakeovers(n)
	}
}

// aboutProcess returns what the metrics say of the process itself.
func (a *App) aboutProcess(version string) metrics.About {
	return metrics.About{
		Version: version, Database: a.store.Dialect(),
		Store: func() (begun, redone int64, waited time.Duration) {
			begun, waited = a.store.Waits()
			return begun, a.store.Redone(), waited
		},
	}
}

// WriteMetrics writes what stored rows say now, as text for Prometheus.
func (a *App) WriteMetrics(ctx context.Context, w io.Writer, version string) error {
	m := metrics.NewMeter()
	if err := a.readGauges(ctx, m, ""); err != nil {
		return err
	}
	return metrics.WriteStored(w, m, a.aboutProcess(version))
}

// WriteSourceMetrics writes what this process did for a source, and what stored rows say
// of it. What it did is written also where the rows cannot be read.
func (a *App) WriteSourceMetrics(ctx context.Context, w io.Writer, source string) error {
	if a.meter == nil {
		return errors.New("this process counts nothing")
	}
	unread := a.readGauges(ctx, a.meter, source)
	return errors.Join(metrics.WriteSource(w, a.meter, a.aboutProcess(a.config.Metrics.Version), source), unread)
}

// WriteOperationMetrics writes what this process counted of one operation of a source.
func (a *App) WriteOperationMetrics(w io.Writer, source string, op ingest.Operation) error {
	if a.meter == nil {
		return errors.New("this process counts nothing")
	}
	return metrics.WriteOperation(w, a.meter, source, string(op))
}

// readGauges computes what metrics show of stored rows, and shows it.
func (a *App) readGauges(ctx context.Context, m *metrics.Meter, source string) error {
	began := time.Now()
	found, err := a.Inspect.Gauges(ctx, a.Inspect.UsualQuery(source))
	if found.At.IsZero() {
		return err // nothing was read
	}
	found.Raw = a.rawRoom()
	found.Took = time.Since(began)
	m.Show(found, began)
	return err
}

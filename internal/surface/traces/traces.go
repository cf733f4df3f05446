package traces

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/patra-ingest/patra/internal/core/span"
)

// Config is what a process says about itself and who is told what.
type Config struct {
	Getenv  func(string) string
	Version string            // of the program
	Tell    func(text string) // is told what an operator should know: bad settings, spans that were lost
	Log     *slog.Logger
}

// Traces records spans until it is closed.
type Traces struct {
	recorder  *recorder
	provider  *sdk.TracerProvider
	collector *collector
	warn      func(string)
}

// Open reads the settings and begins to record; nil if no spans are wanted. It connects to
// nobody: a collector that is not there costs nothing before the first spans are sent.
func Open(ctx context.Context, c Config) *Traces {
	settings, warnings := ReadSettings(c.Getenv)
	for _, text := range warnings {
		c.Tell(text)
	}
	if settings.Endpoint == nil {
		return nil
	}
	defer tellErrors(c)()
	to := newCollector(settings, c.Log)
	exporter := otlptrace.NewUnstarted(to)
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(describeProcess(ctx, c)))
	return &Traces{recorder: &recorder{tracer: provider.Tracer("github.com/patra-ingest/patra")}, provider: provider, collector: to, warn: c.Tell}
}

// tellErrors tells what the SDK finds wrong: with the settings, until it is set up, and
// later in the log. By itself it would write to stderr.
func tellErrors(c Config) (setUp func()) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { c.Tell("warning: OTEL_* variables: " + err.Error()) }))
	return func() {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { c.Log.Warn("traces", "error", err) }))
	}
}

// describeProcess says whose spans they are. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
// win over what we say.
func describeProcess(ctx context.Context, c Config) *resource.Resource {
	host, _ := os.Hostname() // without a name the pid has to do
	own := resource.WithAttributes(attribute.String("service.name", "patra"), attribute.String("service.version", c.Version),
		attribute.String("service.instance.id", fmt.Sprintf("%s-%d", host, os.Getpid())))
	described, err := resource.New(ctx, own, resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		c.Tell("warning: OTEL_RESOURCE_ATTRIBUTES is not of the form name=value,name=value: what cannot be read is left out")
	}
	return described
}

// Recorder records the spans of this process; nil if none are wanted.
func (t *Traces) Recorder() span.Recorder {
	if t == nil {
		return nil
	}
	return t.recorder
}

// lastWords is how long the spans that are left may take to reach the collector.
const lastWords = 3 * time.Second

// Close sends what is left, for a short while, and tells if spans were lost.
func (t *Traces) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	stopped := t.provider.Shutdown(ctx)
	kept, delivered := t.recorder.kept.Load(), t.collector.delivered.Load()
	if delivered >= kept {
		return
	}
	why := t.collector.lastTrouble()
	switch {
	case why != nil:
	case stopped != nil:
		why = fmt.Errorf("it took longer than %s", lastWords)
	default:
		why = errors.New("they came faster than it took them: OTEL_TRACES_SAMPLER records a share of them, OTEL_BSP_MAX_QUEUE_SIZE lets more of them wait")
	}
	t.warn(fmt.Sprintf("warning: %d of %d spans did not reach the collector at %s: %v; the work is not affected", kept-delivered, kept, t.collector.settings.Endpoint.Host, why))
}

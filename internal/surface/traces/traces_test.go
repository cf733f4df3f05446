package traces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/testkit/otlp"
)

// opened is a process that records, with what it told.
type opened struct {
	*Traces
	log    bytes.Buffer
	warned []string
}

func open(t *testing.T, variables map[string]string) *opened {
	t.Helper()
	o := &opened{}
	o.Traces = Open(t.Context(), Config{
		Getenv: func(name string) string { return variables[name] }, Version: "1.2.3", Log: slog.New(slog.NewTextHandler(&o.log, nil)),
		Tell: func(text string) { o.warned = append(o.warned, text) },
	})
	return o
}

// What services begin and end arrives as a tree, with attributes, links and failures.
func TestSpansArrive(t *testing.T) {
	to := otlp.Start(t)
	o := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-team=data", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"})
	outer, trigger := span.BeginRoot(t.Context(), o.Recorder(), span.Beginning{Name: span.Trigger})
	_, slice := span.Begin(outer, span.Slice)
	slice.Note(span.Number(span.SliceNo, 7), span.Text(span.Source, "crossref"), span.Flag(span.HasNext, true))
	slice.End(nil)
	trigger.End(nil)
	trigger.End(errors.New("too late: it has ended"))
	inner, claim := span.BeginRoot(outer, o.Recorder(), span.Beginning{Name: span.Claim, Root: true, Link: trigger.Traceparent()})
	_, call := span.BeginAs(inner, span.Beginning{Name: "GET", Client: true})
	call.End(fault.Newf(fault.ServerError, "words of an upstream"))
	claim.End(nil)
	o.Close()
	if got, want := to.Tree(), []string{"claim", "claim > GET", "trigger", "trigger > slice"}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	a := to.Named("slice")[0]
	if a.Attributes[span.SliceNo] != int64(7) || a.Attributes[span.Source] != "crossref" || a.Attributes[span.HasNext] != true || a.Failed != "" {
		t.Errorf("%+v", a)
	}
	if a.Resource["service.name"] != "patra" || a.Resource["service.version"] != "1.2.3" {
		t.Errorf("%v", a.Resource)
	}
	led, from := to.Named("claim")[0], to.Named("trigger")[0]
	if len(led.Links) != 1 || led.Links[0].ID != from.ID || led.Links[0].TraceID != from.TraceID || led.TraceID == from.TraceID || trigger.Traceparent() != from.Traceparent() || from.Failed != "" {
		t.Errorf("%+v, %+v, %s", led, from, trigger.Traceparent())
	}
	failed := to.Named("GET")[0]
	if failed.Failed != string(fault.ServerError) || failed.Attributes[span.ErrorType] != string(fault.ServerError) || failed.Attributes[span.ErrorLevel] != "L1" {
		t.Errorf("%+v", failed)
	}
	if to.Headers()[0].Get("X-Team") != "data" || bytes.Contains(to.Bodies()[0], []byte("words")) || len(o.warned) > 0 || o.log.Len() > 0 {
		t.Errorf("%v %v %s", to.Headers()[0], o.warned, o.log.String())
	}
}

// Where nobody records, nothing is begun, noted or allocated.
func TestSpansAreFreeWhereNobodyRecords(t *testing.T) {
	if open(t, nil).Recorder() != nil {
		t.Fatal("spans are recorded although nobody said where to")
	}
	ctx := context.WithValue(t.Context(), struct{ n int }{1}, 1)
	allocated := testing.AllocsPerRun(100, func() {
		within, s := span.Begin(ctx, span.Batch)
		if s.IsKept() {
			s.Note(span.Text(span.Source, "crossref"), span.Number(span.Page, 1))
		}
		_, call := span.BeginAs(within, span.Beginning{Name: "GET", Client: true})
		if call.Traceparent() != "" {
			t.Error("a span that is not there has a name")
		}
		call.End(nil)
		s.End(nil)
	})
	if allocated != 0 {
		t.Errorf("%g allocations", allocated)
	}
}

// A collector that refuses, or is not there, is told once in the log and once at the end,
// with how many spans were lost, and never with what is sent to it.
func TestCollectorInTroubleIsToldOnce(t *testing.T) {
	there := otlp.Start(t)
	there.Answer(http.StatusForbidden)
	for name, address := range map[string]string{"refuses": there.URL, "is not there": "http://127.0.0.1:1"} {
		t.Run(name, func(t *testing.T) {
			o := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": strings.Replace(address, "//", "//ann:hidden-password@", 1), "OTEL_EXPORTER_OTLP_HEADERS": "authorization=hidden-token", "OTEL_EXPORTER_OTLP_TIMEOUT": "100"})
			for range 3 {
				_, s := span.BeginRoot(t.Context(), o.Recorder(), span.Beginning{Name: span.Trigger})
				s.End(nil)
				if err := o.provider.ForceFlush(t.Context()); err != nil {
					t.Error(err)
				}
			}
			o.Close()
			if n := strings.Count(o.log.String(), "spans do not reach the collector"); n != 1 || len(o.warned) != 1 || !strings.Contains(o.warned[0], "3 of 3 spans did not reach the collector at 127.0.0.1:") {
				t.Errorf("%s\n%q", o.log.String(), o.warned)
			}
			if said := o.log.String() + fmt.Sprint(o.warned); strings.Contains(said, "hidden") {
				t.Error(said)
			}
		})
	}
}

// A collector that comes back gets what is recorded from then on, and that is told.
func TestCollectorThatComesBack(t *testing.T) {
	to := otlp.Start(t)
	o := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL})
	for _, status := range []int{http.StatusBadRequest, http.StatusOK} {
		to.Answer(status)
		_, s := span.BeginRoot(t.Context(), o.Recorder(), span.Beginning{Name: span.Trigger})
		s.End(nil)
		if err := o.provider.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	o.Close()
	if len(to.Spans()) != 1 || !strings.Contains(o.log.String(), "reach the collector again") || len(o.warned) != 1 || !strings.Contains(o.warned[0], "1 of 2 spans") {
		t.Errorf("%d, %s, %q", len(to.Spans()), o.log.String(), o.warned)
	}
}

// What cannot be the name of a span is no link and no error.
func TestBadTraceparentIsNoLink(t *testing.T) {
	for _, text := range []string{"", "x", "00-0-0-01", "00-00000000000000000000000000000000-0000000000000000-01", strings.Repeat("a", 55)} {
		if parseTraceparent(text).IsValid() {
			t.Errorf("%q is a link", text)
		}
	}
}

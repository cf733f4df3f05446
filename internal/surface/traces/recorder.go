package traces

import (
	"context"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/patra-ingest/patra/internal/core/span"
)

// recorder makes spans of the SDK of what services tell.
type recorder struct {
	tracer trace.Tracer
	kept   atomic.Int64 // spans that ended and should reach the collector
}

func (r *recorder) Record(ctx context.Context, b span.Beginning) (context.Context, span.Recorded) {
	options := make([]trace.SpanStartOption, 0, 4)
	if b.Client {
		options = append(options, trace.WithSpanKind(trace.SpanKindClient))
	}
	if b.Root {
		options = append(options, trace.WithNewRoot())
	}
	if !b.At.IsZero() {
		options = append(options, trace.WithTimestamp(b.At))
	}
	if led := parseTraceparent(b.Link); led.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: led}))
	}
	ctx, s := r.tracer.Start(ctx, b.Name, options...)
	return ctx, &recorded{of: s, by: r}
}

// parseTraceparent reads the name of a span; what is none is no span.
func parseTraceparent(text string) trace.SpanContext {
	if text == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": text})
	return trace.SpanContextFromContext(ctx)
}

// recorded is a span of the SDK.
type recorded struct {
	of trace.Span
	by *recorder
}

func (s *recorded) IsKept() bool { return s.of.IsRecording() }

func (s *recorded) Note(attributes []span.Attribute) {
	out := make([]attribute.KeyValue, 0, len(attributes))
	for _, a := range attributes {
		switch a.Is {
		case span.IsNumber:
			out = append(out, attribute.Int64(a.Key, a.Number))
		case span.IsFlag:
			out = append(out, attribute.Bool(a.Key, a.Number != 0))
		default:
			out = append(out, attribute.String(a.Key, a.Text))
		}
	}
	s.of.SetAttributes(out...)
}

func (s *recorded) Fail(level, code string) {
	s.of.SetStatus(codes.Error, code)
	s.of.SetAttributes(attribute.String(span.ErrorType, code))
	if level != "" {
		s.of.SetAttributes(attribute.String(span.ErrorLevel, level))
	}
}

func (s *recorded) End() {
	if s.of.IsRecording() { // the second end finds it ended
		s.by.kept.Add(1)
		s.of.End()
	}
}

func (s *recorded) Traceparent() string {
	c := s.of.SpanContext()
	if !c.IsValid() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%02x", c.TraceID(), c.SpanID(), byte(c.TraceFlags()&trace.FlagsSampled))
}

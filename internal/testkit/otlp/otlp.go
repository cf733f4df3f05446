// Package otlp is a collector of spans for tests: it takes what a program sends by OTLP
// over HTTP, decodes it with the types of the protocol, and shows it as trees.
//
// It shares nothing with the code that sends.
package otlp

import (
	"compress/gzip"
	"crypto/tls"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is one span as it arrived.
type Span struct {
	Name, TraceID, ID, Parent string
	Kind                      tracepb.Span_SpanKind
	Attributes                map[string]any
	Links                     []Link
	Failed                    string // what its status says; empty: it did not fail
	Resource                  map[string]any
	Start, End                uint64
}

// Link points to a span of another trace.
type Link struct{ TraceID, ID string }

// Traceparent names the span as W3C Trace Context does.
func (s Span) Traceparent() string { return "00-" + s.TraceID + "-" + s.ID + "-01" }

// Receiver takes spans.
type Receiver struct {
	URL string

	mu      sync.Mutex
	spans   []Span
	bodies  [][]byte
	headers []http.Header
	status  int
}

// Start starts a receiver that ends with the test.
func Start(tb testing.TB) *Receiver {
	tb.Helper()
	return start(tb, (*httptest.Server).Start)
}

// StartTLS starts one that shows a certificate, and may ask for one.
func StartTLS(tb testing.TB, with *tls.Config) *Receiver {
	tb.Helper()
	return start(tb, func(s *httptest.Server) {
		s.TLS = with
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are what tests want
		s.StartTLS()
	})
}

func start(tb testing.TB, begin func(*httptest.Server)) *Receiver {
	tb.Helper()
	r := &Receiver{status: http.StatusOK}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodPost || q.URL.Path != "/v1/traces" || q.Header.Get("Content-Type") != "application/x-protobuf" {
			tb.Errorf("%s %s %s is not OTLP", q.Method, q.URL.Path, q.Header.Get("Content-Type"))
		}
		if err := r.take(q); err != nil {
			tb.Errorf("spans cannot be read: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		w.WriteHeader(r.status)
	}))
	begin(server)
	tb.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// Answer sets the status of further answers. Spans that come with another than 200 do not
// count.
func (r *Receiver) Answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *Receiver) take(q *http.Request) error {
	body := io.Reader(q.Body)
	if q.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(q.Body)
		if err != nil {
			return err
		}
		body = unpacked
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var data tracepb.TracesData
	if err := proto.Unmarshal(raw, &data); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers = append(r.headers, q.Header.Clone())
	if r.status != http.StatusOK {
		return nil
	}
	r.bodies = append(r.bodies, raw)
	for _, of := range data.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				r.spans = append(r.spans, spanOf(s, attributesOf(of.Resource.GetAttributes())))
			}
		}
	}
	return nil
}

func spanOf(s *tracepb.Span, resource map[string]any) Span {
	out := Span{
		Name: s.Name, TraceID: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId), Kind: s.Kind,
		Attributes: attributesOf(s.Attributes), Resource: resource, Start: s.StartTimeUnixNano, End: s.EndTimeUnixNano,
	}
	if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		out.Failed = s.Status.Message
	}
	for _, l := range s.Links {
		out.Links = append(out.Links, Link{hex.EncodeToString(l.TraceId), hex.EncodeToString(l.SpanId)})
	}
	return out
}

func attributesOf(all []*commonpb.KeyValue) map[string]any {
	out := map[string]any{}
	for _, a := range all {
		switch v := a.Value.GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			out[a.Key] = v.IntValue
		case *commonpb.AnyValue_BoolValue:
			out[a.Key] = v.BoolValue
		}
	}
	return out
}

// Spans returns what arrived, in the order in which spans began.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.spans)
	slices.SortStableFunc(out, func(a, b Span) int { return int(int64(a.Start) - int64(b.Start)) })
	return out
}

// Named returns the spans of a name.
func (r *Receiver) Named(name string) []Span {
	return slices.DeleteFunc(r.Spans(), func(s Span) bool { return s.Name != name })
}

// Bodies returns what was received, byte by byte.
func (r *Receiver) Bodies() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.bodies)
}

// Headers returns the headers of all requests.
func (r *Receiver) Headers() []http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.headers)
}

// Tree returns how spans stand within each other, one line per distinct way from the root
// down, such as "claim > run > batch > commit".
func (r *Receiver) Tree() []string {
	spans := r.Spans()
	byID := map[string]Span{}
	for _, s := range spans {
		byID[s.TraceID+s.ID] = s
	}
	var out []string
	for _, s := range spans {
		way := []string{s.Name}
		for s.Parent != "" {
			above, known := byID[s.TraceID+s.Parent]
			if !known {
				way = append(way, "?")
				break
			}
			s = above
			way = append(way, s.Name)
		}
		slices.Reverse(way)
		out = append(out, strings.Join(way, " > "))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

package traces

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/link"
)

// Settings say where spans go. They come from the variables that every program with
// OpenTelemetry knows; sampler, resource and limits are read by the SDK.
type Settings struct {
	Endpoint *url.URL // of the collector; nil: no spans are recorded
	Headers  http.Header
	Timeout  time.Duration // of one upload, with its tries
	Gzip     bool
	TLS      *tls.Config // nil: the authorities of the system, and no certificate of ours
}

const (
	defaultEndpoint = "http://localhost:4318"
	defaultTimeout  = 10 * time.Second
	tracesPath      = "/v1/traces"
)

// ReadSettings reads the variables. What cannot be used is told as a warning and counts as
// not written, as OpenTelemetry wants it; where spans could go to a wrong place, none are
// recorded.
func ReadSettings(getenv func(string) string) (s Settings, warnings []string) {
	r := reader{getenv: getenv}
	if r.isOn() {
		s.Endpoint = r.readEndpoint()
	}
	if s.Endpoint == nil {
		return s, r.warnings
	}
	var usable bool
	if s.TLS, usable = r.readCertificates(); !usable {
		return Settings{}, r.warnings
	}
	s.Headers, s.Timeout, s.Gzip = r.readHeaders(), r.readTimeout(), r.readCompression()
	return s, r.warnings
}

// reader reads variables and keeps what is wrong with them.
type reader struct {
	getenv   func(string) string
	warnings []string
}

func (r *reader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, "warning: "+fmt.Sprintf(format, args...))
}

// readOne returns the value of the variable for traces, else of that for everything that
// is sent by OTLP, with the name it was found under.
func (r *reader) readOne(suffix string) (name, value string) {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"} {
		if value := strings.TrimSpace(r.getenv(prefix + suffix)); value != "" {
			return prefix + suffix, value
		}
	}
	return "", ""
}

// isOn reports whether spans are wanted: an endpoint is named, or the exporter is.
func (r *reader) isOn() bool {
	switch disabled := strings.ToLower(strings.TrimSpace(r.getenv("OTEL_SDK_DISABLED"))); disabled {
	case "", "false":
	case "true":
		return false
	default:
		r.warn("OTEL_SDK_DISABLED is %q: expected true or false; it counts as false", disabled)
	}
	_, endpoint := r.readOne("ENDPOINT")
	switch exporter := strings.ToLower(strings.TrimSpace(r.getenv("OTEL_TRACES_EXPORTER"))); exporter {
	case "":
		return endpoint != "" && r.knowsProtocol()
	case "otlp":
		return r.knowsProtocol()
	case "none":
	default:
		r.warn("OTEL_TRACES_EXPORTER is %q: expected otlp or none; no spans are recorded", exporter)
	}
	return false
}

// knowsProtocol reports whether the collector is spoken to in the one way we know.
func (r *reader) knowsProtocol() bool {
	name, protocol := r.readOne("PROTOCOL")
	if protocol == "" || protocol == "http/protobuf" {
		return true
	}
	r.warn("%s is %q: only http/protobuf is spoken (port 4318 of most collectors); no spans are recorded", name, protocol)
	return false
}

// readEndpoint returns the address spans are posted to; nil if it cannot be used. Of an
// address only the host is ever told: it may hold a password.
func (r *reader) readEndpoint() *url.URL {
	name, text := r.readOne("ENDPOINT")
	if text == "" {
		name, text = "OTEL_EXPORTER_OTLP_ENDPOINT", defaultEndpoint
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		r.warn("%s is no address of a collector: expected one such as %s; no spans are recorded", name, defaultEndpoint)
		return nil
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath(tracesPath)
	}
	if u.Scheme == "http" && !link.IsLocal(u.Hostname()) {
		r.warn("spans go to the collector at %s without encryption: write https:// into %s to encrypt", u.Host, name)
	}
	return u
}

// readHeaders returns what is sent with every upload: name=value, separated by commas, the
// values with percent signs for what is none of theirs. A value is never told.
func (r *reader) readHeaders() http.Header {
	out := http.Header{}
	name, text := r.readOne("HEADERS")
	if text == "" {
		return out
	}
	for i, pair := range strings.Split(text, ",") {
		key, value, found := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !found || key == "" || err != nil || strings.ContainsAny(key+decoded, "\r\n\x00") {
			r.warn("%s: entry %d is not of the form name=value; it is left out", name, i+1)
			continue
		}
		out.Set(key, decoded)
	}
	return out
}

// readTimeout returns how long an upload may take.
func (r *reader) readTimeout() time.Duration {
	name, text := r.readOne("TIMEOUT")
	if text == "" {
		return defaultTimeout
	}
	ms, err := strconv.Atoi(text)
	if err != nil || ms <= 0 {
		r.warn("%s is %q: expected milliseconds, such as 10000; %s is taken", name, text, defaultTimeout)
		return defaultTimeout
	}
	return time.Duration(ms) * time.Millisecond
}

// readCompression reports whether uploads are compressed.
func (r *reader) readCompression() bool {
	name, text := r.readOne("COMPRESSION")
	switch text {
	case "", "none":
		return false
	case "gzip":
		return true
	}
	r.warn("%s is %q: expected gzip or none; nothing is compressed", name, text)
	return false
}

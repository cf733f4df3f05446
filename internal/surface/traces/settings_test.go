package traces

import (
	"strings"
	"testing"
	"time"
)

func readFrom(variables map[string]string) (Settings, []string) {
	return ReadSettings(func(name string) string { return variables[name] })
}

// Off unless somebody says where spans go; what is written decides, and the variable for
// traces wins over the one for everything.
func TestWhereSpansGo(t *testing.T) {
	const traces, all = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, c := range []struct {
		variables map[string]string
		want      string
	}{
		{nil, ""},
		{map[string]string{"OTEL_SERVICE_NAME": "x", "OTEL_TRACES_SAMPLER": "always_on"}, ""},
		{map[string]string{all: "http://127.0.0.1:4318"}, "http://127.0.0.1:4318/v1/traces"},
		{map[string]string{all: "http://127.0.0.1:4318/otlp/"}, "http://127.0.0.1:4318/otlp/v1/traces"},
		{map[string]string{traces: "https://a.example/in", all: "http://b"}, "https://a.example/in"},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, "http://localhost:4318/v1/traces"},
		{map[string]string{"OTEL_TRACES_EXPORTER": "none", all: "http://127.0.0.1:4318"}, ""},
		{map[string]string{"OTEL_SDK_DISABLED": "TRUE", all: "http://127.0.0.1:4318"}, ""},
		{map[string]string{"OTEL_SDK_DISABLED": "false", all: "http://127.0.0.1:4318"}, "http://127.0.0.1:4318/v1/traces"},
		{map[string]string{all: "http://127.0.0.1:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "http://127.0.0.1:4318/v1/traces"},
	} {
		s, warnings := readFrom(c.variables)
		got := ""
		if s.Endpoint != nil {
			got = s.Endpoint.String()
		}
		if got != c.want || len(warnings) > 0 {
			t.Errorf("%v: %q %v, want %q", c.variables, got, warnings, c.want)
		}
	}
}

// What cannot be used is said, with the name of the variable and what it should be, and
// never with a value that may be secret.
func TestBadSettingsAreTold(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	here := "http://127.0.0.1:4318"
	for _, c := range []struct {
		name, value string
		on          bool
		want        string
	}{
		{"OTEL_TRACES_EXPORTER", "zipkin", false, `OTEL_TRACES_EXPORTER is "zipkin": expected otlp or none; no spans are recorded`},
		{"OTEL_SDK_DISABLED", "yes", true, `OTEL_SDK_DISABLED is "yes"`},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", false, "only http/protobuf is spoken"},
		{endpoint, "localhost:4318", false, "OTEL_EXPORTER_OTLP_ENDPOINT is no address of a collector"},
		{endpoint, "http://ann:hidden@[x", false, "no address of a collector"},
		{endpoint, "http://collector.example:4318", true, "collector.example:4318 without encryption"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", true, "expected milliseconds"},
		{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", true, "expected gzip or none"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a=1,hidden", true, "OTEL_EXPORTER_OTLP_HEADERS: entry 2 is not of the form name=value"},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=%zzhidden", true, "entry 1"},
	} {
		variables := map[string]string{endpoint: here}
		variables[c.name] = c.value
		s, warnings := readFrom(variables)
		said := strings.Join(warnings, "\n")
		if len(warnings) != 1 || !strings.Contains(said, c.want) || strings.Contains(said, "hidden") || (s.Endpoint != nil) != c.on {
			t.Errorf("%s=%s: on %v, %s", c.name, c.value, s.Endpoint != nil, said)
		}
	}
}

func TestSettingsOfUploads(t *testing.T) {
	s, warnings := readFrom(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector.example", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20abc, x-team = data",
		"OTEL_EXPORTER_OTLP_TIMEOUT": "2500", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "1500", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
	})
	if len(warnings) > 0 || s.Headers.Get("Authorization") != "Bearer abc" || s.Headers.Get("X-Team") != "data" || s.Timeout != 1500*time.Millisecond || !s.Gzip {
		t.Errorf("%+v %v", s, warnings)
	}
}

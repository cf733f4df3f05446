package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli"
	"github.com/patra-ingest/patra/internal/surface/httpapi"
)

// said is an error as the command line tells it with -o json.
type said struct {
	Kind, Code, Message, Hint string
	Problems                  []httpapi.FieldProblem
}

// typed runs a command over the database of a test, which must fail.
func (s *served) typed(args ...string) (out said) {
	s.Helper()
	var stdout, stderr bytes.Buffer
	if code := cli.Main(s.Context(), append(args, "--db", "sqlite:"+s.file, "-o", "json"), &stdout, &stderr); code == 0 {
		s.Fatalf("patra %s succeeds: %s", strings.Join(args, " "), stdout.String())
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	var last struct{ Error said }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		s.Fatalf("patra %s: %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return last.Error
}

// TestProblemsSayWhatTheCommandLineSays makes the same mistakes by a command and by a request: kind, code,
// the sentence, what to do next and the place of each problem are the same.
func TestProblemsSayWhatTheCommandLineSays(t *testing.T) {
	s := serve(t)
	var file struct{ YAML string }
	s.read("/v1/sources/crossref/file", &file)
	broken := strings.Replace(file.YAML, "perSecond:", "perSeconds:", 1)
	path := filepath.Join(t.TempDir(), "crossref.yaml")
	if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(broken)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		typed              []string
		method, path, body string
	}{
		{[]string{"plan", "show", "987654"}, http.MethodGet, "/v1/plans/987654", ""},
		{[]string{"task", "show", "987654"}, http.MethodGet, "/v1/tasks/987654", ""},
		{[]string{"run", "show", "987654"}, http.MethodGet, "/v1/runs/987654", ""},
		{[]string{"batch", "show", "987654"}, http.MethodGet, "/v1/batches/987654", ""},
		{[]string{"cursor", "show", "987654"}, http.MethodGet, "/v1/cursors/987654", ""},
		{[]string{"source", "show", "nosuch"}, http.MethodGet, "/v1/sources/nosuch/file", ""},
		{[]string{"plan", "cancel", "1", "--reason", "x"}, http.MethodPost, "/v1/plans/1/cancel", `{"reason":"x"}`},
		{[]string{"task", "cancel", "1", "--reason", "x", "--yes"}, http.MethodPost, "/v1/tasks/cancel", `{"reason":"x","ids":[1]}`},
		{[]string{"task", "retry", "1", "--reason", "x", "--yes"}, http.MethodPost, "/v1/tasks/retry", `{"reason":"x","ids":[1]}`},
		{[]string{"source", "apply", path, "--reason", "x"}, http.MethodPost, "/v1/sources/crossref/apply", `{"reason":"x","yaml":` + string(text) + `}`},
	} {
		name := strings.Join(c.typed[:2], " ")
		t.Run(name, func(t *testing.T) {
			want := s.typed(c.typed...)
			var got httpapi.Problem
			status, _, body := s.send(c.method, c.path, c.body)
			if err := json.Unmarshal(body, &got); err != nil || status < http.StatusBadRequest {
				t.Fatalf("%d %v %s", status, err, body)
			}
			if got.Kind != want.Kind || want.Code != "" && got.Code != want.Code {
				t.Errorf("kind %s, code %s; the command line says %s, %s", got.Kind, got.Code, want.Kind, want.Code)
			}
			if len(want.Problems) == 0 && got.Detail != want.Message {
				t.Errorf("it says  %s\nthe command line says  %s", got.Detail, want.Message)
			}
			if want.Hint != "" && got.Next != want.Hint {
				t.Errorf("next %q, the command line says %q", got.Next, want.Hint)
			}
			if len(got.Problems) != len(want.Problems) {
				t.Fatalf("problems %+v, the command line says %+v", got.Problems, want.Problems)
			}
			for i, p := range want.Problems {
				if got.Problems[i] != p {
					t.Errorf("problem %+v, the command line says %+v", got.Problems[i], p)
				}
			}
		})
	}
}

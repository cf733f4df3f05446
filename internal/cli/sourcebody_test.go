package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
)

// The whole answer of a trial is printed or saved, also one that cannot be read; what it
// repeats of our secret, and who wrote to whom, is hidden in both.
func TestTrialShowsTheWholeAnswer(t *testing.T) {
	const canary = "kanari-0123456789"
	d := newDesk(t)
	d.Setenv("MINE_API_KEY", canary)
	asked, status := 0, http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"items":[{"id":"a","updated_at":"2025-03-01T01:00:00Z"}],"total":1,"you":%q,"help":"jane.doe@example.org","last":"the end"}`, r.Header.Get("X-Own"))
	}))
	defer server.Close()
	text := d.changed(source.SkeletonLike("", "mine", "mine.yaml"), "baseUrl: https://api.example.org/v1", "baseUrl: "+server.URL+"\n  allowHttp: true\n  allowPrivate: true")
	text += "\ncredentials: {own: {type: API_KEY, in: HEADER, name: X-Own, value: env:MINE_API_KEY}}\nauth: {credential: own}\n"
	file := d.write("mine.yaml", text)
	d.expect(term.ExitOK, "source", "trust", file, "--yes", "--reason", "test")
	test := func(code int, args ...string) result {
		return d.expect(code, append([]string{"source", "test", file, "--window", firstOfMarch}, args...)...)
	}
	if plain := test(term.ExitOK, "-o", "json"); strings.Contains(plain.out, `"body"`) {
		t.Errorf("a body that nobody asked for:\n%s", plain.out)
	}
	for code, answer := range map[int]int{term.ExitOK: http.StatusOK, term.ExitUpstream: http.StatusInternalServerError} {
		status = answer
		shown := test(code, "--body").out
		d.holds(shown, `"last":"the end"`, `"total":1`)
		saved := filepath.Join(d.TempDir(), "answer.json")
		r := test(code, "--save", saved, "-o", "json")
		d.holds(r.err, "the answer is in "+saved)
		content, err := os.ReadFile(saved)
		if err != nil {
			t.Fatal(err)
		}
		d.holds(string(content), `"last":"the end"`)
		if strings.Contains(r.out, "the end\"}") && strings.Contains(r.out, `"body"`) {
			t.Errorf("--save alone printed the answer:\n%s", r.out)
		}
		for _, text := range []string{shown, string(content), test(code, "--body", "-o", "json").out} {
			if strings.Contains(text, canary) || strings.Contains(text, "jane.doe") {
				t.Errorf("shown:\n%s", text)
			}
		}
		before := asked
		d.holds(test(term.ExitConflict, "--save", saved).err, "exists already", "nothing was asked for")
		if asked != before {
			t.Error("a request was sent although its answer could not be kept")
		}
	}
}

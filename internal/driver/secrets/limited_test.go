//go:build unix

package secrets

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// A pipe in an allowed folder holds nobody, and neither does one that is named on
// the command line for longer than its caller waits.
func TestPipesHoldNobody(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	limited := Limited{trust.Policy{Folders: []string{folder}}}
	_, err := limited.Reveal(t.Context(), reference(t, "file:"+pipe), secret.Purpose{Host: "api.example.org"})
	var refused *trust.Refusal
	if !errors.As(err, &refused) || refused.Why != trust.NotRegular {
		t.Errorf("%v", err)
	}
}

// Only what signs may have several lines.
func TestLinesOnlySign(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "key")
	if err := os.WriteFile(file, []byte("first-"+canary+"\nsecond-"+canary+"\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATRA_TEST_LINES", "first-"+canary+"\rsecond\n")
	limited := Limited{trust.Policy{Folders: []string{folder}, Commands: []string{"cat " + file}}}
	for _, text := range []string{"file:" + file, "env:PATRA_TEST_LINES", "exec:cat " + file} {
		got, err := limited.Reveal(t.Context(), reference(t, text), secret.Purpose{Host: "api.example.org"})
		if !errors.Is(err, errLines) || !got.IsZero() || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", text, err)
		}
		if got, err := limited.Reveal(t.Context(), reference(t, text), secret.Purpose{Signs: true}); err != nil || !strings.HasPrefix(got.Reveal(), "first-") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLimitedRunsAndReadsNothingElse(t *testing.T) {
	t.Setenv("CREDENTIALS_DIRECTORY", "relative")
	mark := filepath.Join(t.TempDir(), "mark")
	for _, text := range []string{"exec:touch " + mark, "file:/etc/passwd", "file:relative/../../etc/passwd"} {
		_, err := Limited{}.Reveal(t.Context(), reference(t, text), secret.Purpose{Host: "api.example.org"})
		var refused *trust.Refusal
		if !errors.As(err, &refused) || refused.Ref.String() != text {
			t.Errorf("%s: %v", text, err)
		}
		if (Limited{}).Absent(reference(t, text)) {
			t.Errorf("%s: it was looked at", text)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the command was run")
	}
}

func TestSmallEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", canary)
	t.Setenv("PATRA_TEST_GIVEN", "given")
	got := Limited{trust.Policy{Environment: []string{"PATRA_TEST_GIVEN"}}}.childEnvironment()
	if !slices.Contains(got, "PATRA_TEST_GIVEN=given") || strings.Contains(strings.Join(got, " "), canary) || len(got) > 14 {
		t.Errorf("%q", got)
	}
	if (Limited{}).childEnvironment() == nil {
		t.Error("nil would be all of it")
	}
}

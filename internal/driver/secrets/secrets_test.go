package secrets

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/secret"
)

const canary = "canary-4711"

func reference(t *testing.T, text string) secret.Ref {
	t.Helper()
	var r secret.Ref
	if err := r.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRevealReadsEveryKindOfReference(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATRA_TEST_KEY", canary)
	for _, text := range []string{"env:PATRA_TEST_KEY", "file:" + file, "exec:cat " + file} {
		got, err := System{}.Reveal(t.Context(), reference(t, text))
		if err != nil || got.Reveal() != canary {
			t.Errorf("%s: %q, %v", text, got.Reveal(), err)
		}
	}
}

func TestAbsentIsToldFromBroken(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATRA_TEST_EMPTY", "")
	for text, absent := range map[string]bool{
		"env:PATRA_TEST_NOT_SET":         true,
		"env:PATRA_TEST_EMPTY":           true,
		"file:" + empty:                  true,
		"file:" + dir + "/none":          true,
		"exec:true":                      true,
		"file:" + dir:                    false,
		"exec:false":                     false,
		"exec:" + dir + "/no-such-thing": false,
	} {
		_, err := System{}.Reveal(t.Context(), reference(t, text))
		if err == nil || errors.Is(err, secret.ErrAbsent) != absent || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// I12: a command that talks about the secret while it fails.
func TestFailedCommandDoesNotLeak(t *testing.T) {
	script := filepath.Join(t.TempDir(), "leak")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho "+canary+"\necho "+canary+" >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := System{}.Reveal(t.Context(), reference(t, "exec:"+script))
	if err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "code 3") {
		t.Errorf("%v", err)
	}
}

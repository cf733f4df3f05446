package secrets

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		if errors.Is(err, secret.ErrTrouble) != (text == "exec:false") { // it may print one next time
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

// A key that was exchanged holds from the next request on (I10).
func TestRotatedSecretsAreSeenAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	for _, value := range []string{canary, "kanari-0815"} {
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATRA_TEST_KEY", value)
		for _, text := range []string{"env:PATRA_TEST_KEY", "file:" + file, "exec:cat " + file} {
			if got, err := (System{}).Reveal(t.Context(), reference(t, text)); err != nil || got.Reveal() != value {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// A command that prints without end, and a file that is no secret.
func TestNoSecretIsThatLong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "book")
	if err := os.WriteFile(file, []byte(strings.Repeat(canary, 10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"exec:yes " + canary, "file:" + file, "exec:cat " + file} {
		got, err := System{}.Reveal(t.Context(), reference(t, text))
		if !errors.Is(err, errTooLong) || !got.IsZero() || strings.Contains(strings.ReplaceAll(err.Error(), text, ""), canary) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A command that hangs, with a child that keeps the output open, holds nobody.
func TestStoppedCommandHoldsNobody(t *testing.T) {
	script := filepath.Join(t.TempDir(), "hang")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho "+canary+"\nsleep 60 &\nsleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	why := errors.New("nobody waits any more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := (System{}).Reveal(ctx, reference(t, "exec:"+script)); !errors.Is(err, why) || strings.Contains(err.Error(), canary) {
		t.Errorf("%v", err)
	}
	ctx, stop := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, why)
	defer stop()
	if _, err := (System{}).Reveal(ctx, reference(t, "exec:"+script)); !errors.Is(err, why) || !errors.Is(err, secret.ErrTrouble) || strings.Contains(err.Error(), canary) {
		t.Errorf("%v", err)
	}
}

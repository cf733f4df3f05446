//go:build unix

package notify

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/core/alert"
)

// script writes a program.
func script(t *testing.T, text string) alert.Receiver {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page-me")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return alert.Receiver{Command: &alert.Command{Run: []string{path, "--urgent; exit 9"}, Environment: []string{"PAGER_TOKEN"}}}
}

func TestACommandGetsTheMessageAndASmallEnvironment(t *testing.T) {
	t.Setenv("PAGER_TOKEN", "given")
	t.Setenv("DATABASE_PASSWORD", canary)
	out := filepath.Join(t.TempDir(), "out")
	r := script(t, `cat > `+out+`; env > `+out+`.env; echo "$1" > `+out+`.args`)
	if err := open(t, r, Options{}).Send(t.Context(), firing()); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var got alert.Message
	if err := json.Unmarshal([]byte(read(out)), &got); err != nil || !reflect.DeepEqual(got, firing()) {
		t.Errorf("%+v, %v", got, err)
	}
	env := read(out + ".env")
	for _, want := range []string{"PATH=", "PAGER_TOKEN=given\n", "PATRA_ALERT_ID=msg-1\n", "PATRA_ALERT_KIND=FIRING\n", "PATRA_ALERT_SEVERITY=CRITICAL\n", "PATRA_ALERT_TITLE=CRITICAL crossref/works: paused"} {
		if !strings.Contains("\n"+env, "\n"+want) {
			t.Errorf("%s is not in %s", want, env)
		}
	}
	if strings.Contains(env, canary) {
		t.Error("it got all of our environment")
	}
	if read(out+".args") != "--urgent; exit 9\n" {
		t.Error("a shell was between")
	}
}

func TestACommandThatFails(t *testing.T) {
	for text, says := range map[string]string{"echo " + canary + " >&2; echo " + canary + "; exit 3": "ended with code 3", "kill -9 $$": "ended with code -1"} {
		err := open(t, script(t, text), Options{}).Send(t.Context(), firing())
		if err == nil || !strings.Contains(err.Error(), says) || errors.Is(err, alert.ErrRefused) {
			t.Error(err)
		}
		holdsNoSecret(t, err)
	}
	unable := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(unable, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for run, says := range map[string]string{"/nowhere/page": "is not there", "no-such-program-4711": "is not there", unable: "may not be run"} {
		err := open(t, alert.Receiver{Command: &alert.Command{Run: []string{run}}}, Options{}).Send(t.Context(), firing())
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", run, err)
		}
	}
	// A program that does not read all of it has not failed.
	if err := open(t, script(t, "exit 0"), Options{}).Send(t.Context(), firing()); err != nil {
		t.Error(err)
	}
}

// A script that hangs ends with its context, and what it has started with it.
func TestACommandEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	ready, hold := filepath.Join(dir, "ready"), filepath.Join(dir, "hold")
	for _, pipe := range []string{ready, hold} {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := script(t, `cat < `+hold+` & echo > `+ready+`; wait`)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- open(t, r, Options{}).Send(ctx, firing()) }()
	if _, err := os.ReadFile(ready); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for { // until nobody reads there any more
		file, err := os.OpenFile(hold, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, syscall.ENXIO) {
			return
		}
		file.Close()
	}
}

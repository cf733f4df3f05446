package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// A shared gate that cannot be reached is a warning, without its password, and
// requests leave with the share of this process.
func TestUnreachableGateIsAWarning(t *testing.T) {
	var log bytes.Buffer
	a, err := Open(t.Context(), Config{
		Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db"), Gate: "redis://:canary@127.0.0.1:1/0",
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := a.requestGate().Acquire(t.Context(), gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 50}})
	if err != nil {
		t.Fatal(err)
	}
	p.Done(gate.Signal{})
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "level=WARN") || strings.Contains(text, "canary") {
		t.Errorf("the log says: %s", text)
	}
}

func TestAddressOfNoGate(t *testing.T) {
	_, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db"), Gate: "canary@host"})
	if !errors.Is(err, fault.ErrInvalid) || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}

package daemon

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/testkit/outboxtest"
)

func toFiles(t *testing.T) (event.Declaration, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	d, err := event.ReadDeclaration([]byte("destinations:\n  - {name: files, jsonl: {dir: " + dir + "}}\nroutes:\n  - {sources: [crossref], to: files}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return d, dir
}

func countLines(t *testing.T, dir string) (n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		}
		_ = f.Close()
	}
	return n
}

func TestServeRelaysUntilItIsStopped(t *testing.T) {
	declared, dir := toFiles(t)
	a, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db"), Events: declared})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	f := outboxtest.NewFixture(t, a.store, "crossref")
	outboxtest.NewFixture(t, a.store, "other").Commit(3) // nobody gets these
	f.Commit(20)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(ctx, []Role{RoleRelay}) }()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	drained := func() {
		t.Helper()
		for {
			lanes, err := a.store.OutboxLanes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(lanes) == 0 {
				return
			}
			<-look.C
		}
	}
	drained()
	f.Commit(20)
	drained()
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := countLines(t, dir); n != 40 {
		t.Errorf("%d events, want 40", n)
	}
}

func TestARelayNeedsSomebodyToTell(t *testing.T) {
	a, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Serve(t.Context(), []Role{RoleRelay}); !errors.Is(err, fault.ErrInvalid) {
		t.Error(err)
	}
	if _, err := a.PublishEvents(t.Context()); !errors.Is(err, fault.ErrInvalid) {
		t.Error(err)
	}
}

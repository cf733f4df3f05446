//go:build linux

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/upsim"
)

// F12: the server of a process that serves goes away, as it does for an upgrade at
// night, and comes back. The process says so, asks the upstream nothing meanwhile,
// and goes on by itself.
func TestServeOutlivesItsServer(t *testing.T) {
	direct, came := mariadb.DSN(t), newArrivals()
	s := ofKind(t, "token").start(t, direct, upsim.Options{OnEntry: came.entry})
	s.must(s.planArgs("--set", "retry.taskAttempts=1")...)
	tasks, err := s.open().Tasks.List(t.Context(), view.Filter{Limit: 1000})
	if err != nil || len(tasks) == 0 {
		t.Fatalf("%d tasks, %v", len(tasks), err)
	}
	s.faults("slow@*:delay=20ms")
	w, address := newWire(t, direct, nil)
	said, ended := &ear{news: make(chan struct{})}, make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		defer close(ended)
		cli.Main(ctx, []string{"serve", "--log-format", "text", "--roles", "planner,executor", "--workers", "1", "--lease", "2s", "--db", address}, said, said)
	}()
	if !came.wait(3, ended) {
		t.Fatalf("ended:\n%s", said.text.String())
	}
	w.away(true)
	asked := s.server.Requests()
	if !said.hears("the database takes nothing", 1, ended) {
		t.Fatalf("ended:\n%s", said.text.String())
	}
	if more := s.server.Requests() - asked; more > 1 {
		t.Errorf("%d requests for a store that is gone", more)
	}
	w.away(false)
	if !said.hears("the database answers again", 1, ended) || !said.hears("status=SUCCEEDED", len(tasks), ended) {
		t.Fatalf("ended:\n%s", said.text.String())
	}
	stop()
	<-ended
	if text := said.text.String(); strings.Contains(text, "alarm=") {
		t.Errorf("somebody was called for a short outage:\n%s", text)
	}
	s.faultsOff()
	s.whole()
}

// planArgs plan what args harvest.
func (s *subject) planArgs(more ...string) []string {
	args := s.args()
	args[0] = "plan"
	args = slices.DeleteFunc(args, func(a string) bool { return a == "--workers" || a == "1" || a == "-q" })
	return append(args, more...)
}

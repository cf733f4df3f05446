package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

func TestProcessesAreKnownByTheirNames(t *testing.T) {
	want := processIdentity(time.Now())
	if got, ok := processOf(want.ID); !ok || got.ID != want.ID || got.Host != want.Host || got.PID != want.PID {
		t.Errorf("%q is %+v, want %+v", want.ID, got, want)
	}
	if got, ok := processOf("1f-a-b-7"); !ok || got.Host != "a-b" || got.PID != 7 {
		t.Errorf("a host with a hyphen: %+v", got)
	}
	for _, name := range []string{"", "me", "1f-host", "1f-host-", "1f-host-x", "1f-host-0"} {
		if got, ok := processOf(name); ok {
			t.Errorf("%q is %+v", name, got)
		}
	}
}

// A planner that was killed did not give its lease back. The next one on this
// machine knows that it is gone and need not wait.
func TestLeaseOfADeadPlannerIsTakenAtOnce(t *testing.T) {
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	host := processIdentity(time.Now()).Host
	for name, c := range map[string]struct {
		holder string
		taken  bool
	}{
		"dead":            {fmt.Sprintf("1f-%s-%d", host, gone.Process.Pid), true},
		"alive":           {fmt.Sprintf("1f-%s-%d", host, os.Getppid()), false},
		"another machine": {fmt.Sprintf("1f-x%s-%d", host, gone.Process.Pid), false},
		"another name":    {"somebody", false},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "patra.db")
			synctest.Test(t, func(t *testing.T) {
				s := openStation(t, file)
				if _, _, err := s.app.store.AcquireLease(t.Context(), "planner", c.holder, time.Hour); err != nil {
					t.Fatal(err)
				}
				s.serve()
				s.pass(time.Second)
				want := c.holder
				if c.taken {
					want = s.app.identity.ID
				}
				if got, err := s.app.store.LeaseOwners(t.Context()); err != nil || !slices.Equal(got, []string{want}) {
					t.Errorf("the lease is held by %v, want %s (%v)", got, want, err)
				}
				s.close()
			})
		})
	}
}

// Whoever looks after a crash must not read that somebody works: a dead process of
// this machine is known at once, one elsewhere when its time has run out.
func TestTheDeadAreNotAtWork(t *testing.T) {
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	app, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	host := app.identity.Host
	for _, e := range []ingest.Process{
		{ID: "dead", Host: host, PID: gone.Process.Pid}, {ID: "elsewhere", Host: host + "x", PID: gone.Process.Pid},
		{ID: "mine", Host: host, PID: os.Getpid()}, {ID: "parent", Host: host, PID: os.Getppid()},
	} {
		if _, err := app.store.Heartbeat(t.Context(), e, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	living, err := app.AtWork(t.Context())
	var ids []string
	for _, e := range living {
		ids = append(ids, e.ID)
	}
	if slices.Sort(ids); err != nil || !slices.Equal(ids, []string{"elsewhere", "mine", "parent"}) {
		t.Errorf("%v, %v", ids, err)
	}
}

// Others are those that take tasks: neither this process nor one that only plans.
func TestOthersTakeTasks(t *testing.T) {
	app, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	for _, e := range []ingest.Process{
		app.identity, {ID: "plans", Roles: "planner,relay", Host: "x", PID: 1}, {ID: "works", Roles: "planner,executor", Host: "x", PID: 2},
	} {
		if _, err := app.store.Heartbeat(t.Context(), e, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := app.Others(t.Context()); err != nil || len(got) != 1 || got[0].ID != "works" {
		t.Errorf("%+v, %v", got, err)
	}
}

package cli

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/work"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// Nobody left what somebody else works on.
func TestAPlanThatAnotherProcessWorksOnWasNotLeft(t *testing.T) {
	d := planned(t)
	app, err := daemon.Open(t.Context(), daemon.Config{Database: "sqlite:" + d.file})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	if got, want := work.ContinuingText(t.Context(), app, 2), "continuing plan 2, which an earlier run left unfinished"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := localstore.Beside(t, "sqlite:"+d.file).Heartbeat(t.Context(), ingest.Process{ID: "other", Roles: "executor", Host: "night", PID: 77}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if got, want := work.ContinuingText(t.Context(), app, 2), "plan 2 comes first: another process (77 on night) works on it"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

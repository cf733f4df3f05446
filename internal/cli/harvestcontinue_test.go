package cli

import (
	"testing"
	"time"

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
	if got, want := continuing(t.Context(), app, 2), "continuing plan 2, which an earlier run left unfinished"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := localstore.Beside(t, "sqlite:"+d.file).Heartbeat(t.Context(), ingest.Process{ID: "other", Roles: "executor", Host: "night", PID: 77}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if got, want := continuing(t.Context(), app, 2), "plan 2 comes first: another process (77 on night) works on it"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestOneItemInQuarantineIsOne(t *testing.T) {
	one := summary{Source: "shelf"}
	one.Stats.Quarantined = 1
	if got, want := one.verdict().Error(), "1 item in quarantine, kept with the reason; everything else was stored: look with `patra quarantine groups shelf`"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

package work

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func TestOneItemInQuarantineIsOne(t *testing.T) {
	one := Summary{Source: "shelf"}
	one.Stats.Quarantined = 1
	if got, want := one.verdict().Error(), "1 item in quarantine, kept with the reason; everything else was stored: look with `patra quarantine groups shelf`"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// One slice is one slice.
func TestTrust19OneIsNotSeveral(t *testing.T) {
	s := Summary{Source: "crossref", Slices: map[string]int{string(ingest.SliceFailed): 1, string(ingest.SliceSucceeded): 1}}
	if got := s.verdict().Error(); !strings.Contains(got, "1 slice is not covered") {
		t.Error(got)
	}
	s.Slices[string(ingest.SliceFailed)] = 2
	if got := s.verdict().Error(); !strings.Contains(got, "2 slices are not covered") {
		t.Error(got)
	}
	if got := s.updateVerdict(0).Error(); !strings.Contains(got, "2 slices are not done") {
		t.Error(got)
	}
}

// Items that are read twice are records once, and the last frame is that of the end.
func TestTrust19ProgressCountsRecordsOnce(t *testing.T) {
	twice := ingest.RunStats{BatchStats: ingest.BatchStats{Seen: 20, Inserted: 10, Unchanged: 10}}
	line := term.ProgressLine("s", view.Progress{}, view.Progress{PlanID: 1, Total: 1, Done: 1, Stats: twice}, time.Second)
	if !strings.Contains(line, "20 read, 10 stored") {
		t.Error(line)
	}
	last := view.Progress{PlanID: 3, Total: 7, Done: 7}
	if got := lastProgress(daemon.Harvested{Continued: []view.Progress{last}}); got.PlanID != 3 {
		t.Errorf("a harvest that only continued ends with %+v", got)
	}
	if got := lastProgress(daemon.Harvested{Plan: view.Progress{PlanID: 4, Total: 1}, Continued: []view.Progress{last}}); got.PlanID != 4 {
		t.Errorf("%+v", got)
	}
}

func TestTrust19TombstonesAndCancelledHaveTheirNames(t *testing.T) {
	s := Summary{Source: "s", Slices: map[string]int{"SUCCEEDED": 3, "CANCELLED": 2, "PARTIAL": 1}, Replaced: 1}
	s.Stats.Inserted, s.Stats.Gone = 5, 4
	var out strings.Builder
	if err := printSummary(&term.Env{Out: &out, Err: io.Discard, Output: "table"}, s); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, part := range []string{"3 covered, 0 failed, 2 cancelled, 0 other; 1 were cut into smaller ones", "5 new, 0 updated, 0 unchanged, 4 gone, 0 quarantined"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	cancelled := Summary{Source: "s", Slices: map[string]int{"SUCCEEDED": 3, "CANCELLED": 2}}
	if err := cancelled.verdict(); err == nil || !strings.Contains(err.Error(), "2 slices cancelled by an operator") || term.ExitCode(t.Context(), err) != term.ExitPartial {
		t.Errorf("%v", err)
	}
}

// TestFolderOfFilesIsNamed names the folder that files are copied to, by a flag and by the environment.
func TestFolderOfFilesIsNamed(t *testing.T) {
	for _, c := range []struct{ env, flag, want string }{{"", "", ""}, {"/env", "", "/env"}, {"/env", "/flag", "/flag"}} {
		t.Setenv("PATRA_FILES_DIR", c.env)
		var s Settings
		cmd := &cobra.Command{}
		s.Flags(cmd)
		if err := cmd.Flags().Set("files-dir", c.flag); err != nil {
			t.Fatal(err)
		}
		var got daemon.Config
		if err := s.Apply(&got); err != nil || got.FilesDir != c.want {
			t.Errorf("%+v: %q %v", c, got.FilesDir, err)
		}
	}
}

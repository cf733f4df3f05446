package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/disk"
	"github.com/patra-ingest/patra/internal/upsim"
)

// Copies that are taken while a harvest writes are whole, each as of one instant, and a
// harvest goes on from where a copy stands.
func TestBackupWhileAHarvestWrites(t *testing.T) {
	folder := t.TempDir()
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	l := newLibrary(t, "sqlite:"+filepath.Join(folder, "patra.db"), upsim.Config{Seed: 7, From: begin, To: begin.AddDate(0, 0, 4), PerDay: 400, Flat: true}, "")
	l.now = begin.AddDate(0, 0, 4).Add(12 * time.Hour)
	working, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(folder, "patra.db"), Relaxed: true, Workers: 2, Lease: 5 * time.Second}) // what a copy says is worked on is free again when the lease ends
	l.must(err)
	defer working.Close()
	c := l.compile("paging.size=20")
	ended := make(chan error, 1)
	go func() {
		_, err := working.Harvest(t.Context(), c, NewRequest(l.now, &begin, nil), Watch{})
		ended <- err
	}()
	copied := filepath.Join(folder, "copy.db")
	copies, last := 0, int64(-1)
	for going := true; going; {
		done, err := l.app.BackUp(t.Context(), copied, true, func(CheckProgress) {})
		l.must(err)
		if done.File == "" || done.Checked.Total() > 0 || done.Checked.Records < last {
			t.Fatalf("after %d records: %+v", last, done)
		}
		if last = done.Checked.Records; copies == 0 && last >= 1600 {
			t.Fatal("the harvest had ended before the first copy")
		}
		copies++
		select {
		case err := <-ended:
			l.must(err)
			going = false
		default:
		}
	}
	t.Logf("%d copies while it was read, the last with %d records", copies, last)
	restored, err := Open(t.Context(), Config{Database: "sqlite:" + copied, Relaxed: true, Workers: 2})
	l.must(err)
	defer restored.Close()
	before := l.stored()
	l.app = restored
	if _, err := restored.Harvest(t.Context(), c, NewRequest(l.now, &begin, nil), Watch{}); err != nil {
		t.Fatal(err)
	}
	if after := l.stored(); len(after) != len(before) {
		t.Errorf("%d records after the harvest went on, %d in the database itself", len(after), len(before))
	}
	if tasks, err := restored.store.Tasks(t.Context(), view.Filter{Status: string(ingest.TaskFailed)}); err != nil || len(tasks) > 0 {
		t.Errorf("%v %v", tasks, err)
	}
}

// A copy that takes the place of a database whose process was killed is refused until the old
// log is gone.
func TestARestoredCopyIsNotOpenedWithTheOldLog(t *testing.T) {
	folder := t.TempDir()
	path, copied := filepath.Join(folder, "patra.db"), filepath.Join(folder, "copy.db")
	app, err := Open(t.Context(), Config{Database: "sqlite:" + path})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	if done, err := app.BackUp(t.Context(), copied, false, func(CheckProgress) {}); err != nil || done.File != copied {
		t.Fatalf("%+v %v", done, err)
	}
	if left, err := filepath.Glob(copied + "*"); err != nil || len(left) != 1 {
		t.Errorf("%v %v, want the copy alone", left, err)
	}
	log := fileContent(t, path+"-wal") // what a kill leaves
	restored := filepath.Join(t.TempDir(), "patra.db")
	for name, content := range map[string]string{restored: fileContent(t, copied), restored + "-wal": log} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if opened, err := Open(t.Context(), Config{Database: "sqlite:" + restored, MustExist: true}); err == nil {
		t.Errorf("opened with the old log (%v)", opened.Close())
	} else if !strings.Contains(err.Error(), "is not the log of this file") {
		t.Error(err)
	}
}

// A log that comes while a copy is checked keeps the copy from its name.
func TestACopyIsNotPublishedBesideALog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "copy.db")
	for _, name := range []string{partOf(file), file + "-wal"} {
		if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := publishPart(partOf(file), file); err == nil || !strings.Contains(err.Error(), "rm -f") {
		t.Errorf("%v, want what to remove", err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the copy has its name: %v", err)
	}
}

// A full disk is no mistake of whoever asked.
func TestACopyNeedsRoom(t *testing.T) {
	err := refuseFullDisk("copy.db", disk.Room{Free: 5 << 20}, 7<<20)
	if !errors.Is(err, fault.ErrFull) || errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "has 5 MB free, the database takes 7 MB: make room") {
		t.Error(err)
	}
	if err := refuseFullDisk("copy.db", disk.Room{Free: 7 << 20}, 7<<20); err != nil {
		t.Error(err)
	}
}

func fileContent(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

package blob

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/need"
)

// F19: the device takes no byte more. /dev/full answers as a full disk does.
func TestDiskFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		need.Missing(t, "this system has no /dev/full")
	}
	s := open(t, t.TempDir())
	put(t, s, "kept before")
	var made []string
	real := s.temp
	s.temp = func(dir string) (*os.File, error) {
		file, err := real(dir)
		if err != nil {
			return nil, err
		}
		file.Close()
		made = append(made, file.Name())
		if err := os.Remove(file.Name()); err != nil {
			return nil, err
		}
		if err := os.Symlink("/dev/full", file.Name()); err != nil {
			return nil, err
		}
		return os.OpenFile(file.Name(), os.O_WRONLY, 0)
	}
	refusedForRoom(t, s, []byte("one too many"))
	if len(made) != 1 {
		t.Fatalf("%d files were tried", len(made))
	}
	s.temp = real
	if got, err := s.Get(t.Context(), put(t, s, "one too many")); string(got) != "one too many" || err != nil {
		t.Errorf("after room was made: %q %v", got, err)
	}
}

// refusedForRoom expects a plain error, and nothing half-written.
func refusedForRoom(t *testing.T, s *Store, body []byte) {
	t.Helper()
	before, _, err := s.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ref, stored, err := s.Put(t.Context(), body, "", nil)
	if !errors.Is(err, syscall.ENOSPC) || ref != "" || stored != 0 {
		t.Fatalf("%q %d %v", ref, stored, err)
	}
	for _, part := range []string{"no room left in " + s.Dir(), "make room", "--raw-max", "--no-raw"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	if _, err := s.Get(t.Context(), refOf(body)); err == nil {
		t.Error("it is there all the same")
	}
	if after, _, _ := s.Size(t.Context()); after != before {
		t.Errorf("%d files became %d", before, after)
	}
	if rest := files(t, filepath.Join(s.Dir(), tempDir)); len(rest) != 0 {
		t.Errorf("half-written: %v", rest)
	}
}

func TestFolderThatCannotBeWritten(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(parent, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(parent, "raw")) // below a file nobody can make a folder
	if err := s.Ready(); err == nil || !strings.Contains(err.Error(), "keep raw body") {
		t.Error(err)
	}
	s = open(t, filepath.Join(t.TempDir(), "raw"))
	if err := s.Ready(); err != nil {
		t.Error(err)
	}
	if rest := files(t, s.Dir()); len(rest) != 0 {
		t.Errorf("looking left %v", rest)
	}
	if err := s.explainError(&os.PathError{Op: "open", Path: s.Dir(), Err: syscall.EACCES}); !strings.Contains(err.Error(), "--raw-dir") {
		t.Error(err)
	}
}

package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
)

// What is there already may be all that is left of another database's history, or of a
// later state of this one: it is never replaced.
func TestAFileThatIsThereIsNotReplaced(t *testing.T) {
	for how, link := range map[string]func(from, to string) error{
		"with links":                         os.Link,
		"on a file system that has no links": func(_, _ string) error { return errors.ErrUnsupported },
	} {
		t.Run(how, func(t *testing.T) {
			s := open(t)
			s.link = link
			first := write(t, s, batches(10))
			path := filepath.Join(s.Dir(), name)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Write(t.Context(), name, seq(batches(11)))
			if !errors.Is(err, ErrTaken) || errors.Is(err, fault.ErrInvalid) {
				t.Fatalf("a second file of the name: %v", err)
			}
			for _, part := range []string{path, "another database", "--archive-dir", "PATRA_ARCHIVE_DIR"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not tell of %s", err, part)
				}
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("the file was changed: %v", err)
			}
			if sum, err := s.Digest(t.Context(), name); err != nil || sum != first.SHA256 {
				t.Error(sum, err)
			}
			if entries, _ := os.ReadDir(s.Dir()); len(entries) != 1 {
				t.Errorf("%v are there", entries)
			}
		})
	}
}

// Where a name cannot be taken, nothing stays under it.
func TestANameThatCannotBeTaken(t *testing.T) {
	s := open(t)
	s.link = func(from, _ string) error { return errors.Join(errors.ErrUnsupported, os.Remove(from)) }
	if _, err := s.Write(t.Context(), name, seq(batches(1))); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(s.Dir()); len(entries) != 0 {
		t.Errorf("%v were left", entries)
	}
}

// An attempt that was killed before its file was sealed is gone on with: the file is
// taken if it holds what would be written, and left alone if not.
func TestAdopt(t *testing.T) {
	s, rows := open(t), batches(3000)
	if _, same, err := s.Adopt(t.Context(), name, seq(rows)); same || err != nil {
		t.Fatalf("a file that is not there: %v, %v", same, err)
	}
	written := write(t, s, rows)
	got, same, err := s.Adopt(t.Context(), name, seq(rows))
	if err != nil || !same || !reflect.DeepEqual(got, written) {
		t.Fatalf("%v, %v: adopted %+v, written %+v", same, err, got, written)
	}
	changed := batches(3000)
	changed[2999].Columns = []byte(`{"id":1}`)
	for what, other := range map[string][]retention.Row{"one less": rows[:2999], "one more": batches(3001), "another": changed, "none": nil} {
		if _, same, err := s.Adopt(t.Context(), name, seq(other)); same || err != nil {
			t.Errorf("%s: %v, %v", what, same, err)
		}
	}
	gone := errors.New("the database is gone")
	if _, _, err := s.Adopt(t.Context(), name, func(yield func(retention.Row, error) bool) { yield(retention.Row{}, gone) }); !errors.Is(err, gone) {
		t.Errorf("rows that cannot be read: %v", err)
	}
	if err := os.Truncate(filepath.Join(s.Dir(), name), 100); err != nil {
		t.Fatal(err)
	}
	if _, same, err := s.Adopt(t.Context(), name, seq(rows)); same || err != nil {
		t.Errorf("a file that was cut: %v, %v", same, err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir(), name)); err != nil {
		t.Error("it was removed")
	}
}

// Sweeping takes what is unfinished, and never a file that has its name.
func TestSweep(t *testing.T) {
	s := open(t)
	write(t, s, batches(1))
	if err := os.WriteFile(filepath.Join(s.Dir(), "."+name+".123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(name); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(s.Dir()); len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("%v are there", entries)
	}
}

//go:build unix

package installation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/trust"
)

// Who may write a folder may put another file into the place of one in it: whatever the
// rights of the file are, its word does not count then.
func TestTrust01FoldersOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		mode    os.FileMode
		allowed bool
	}{
		"the user's": {0o755, true}, "written by the group": {0o775, false}, "written by all": {0o707, false},
		"sticky, as /tmp": {0o777 | os.ModeSticky, true},
	} {
		own := home(t)
		above := filepath.Join(t.TempDir(), "above")
		folder := filepath.Join(above, "below")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		file := write(t, filepath.Join(folder, FileName), "contact: {email: you@example.org}\n", 0o600)
		link := filepath.Join(own, "linked.yaml")
		if err := os.Symlink(file, link); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{folder, above} {
			if err := os.Chmod(at, c.mode); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{file, link} {
				_, err := Read(path)
				if (err == nil) != c.allowed {
					t.Errorf("%s, %s: %v", name, path, err)
				}
				if err != nil && (!strings.Contains(err.Error(), "chmod go-w "+at) || !strings.Contains(err.Error(), path)) {
					t.Errorf("%s: %v says not what to do", name, err)
				}
			}
			if err := os.Chmod(at, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The same holds for what was agreed to: it is neither believed nor written there.
func TestTrust01ConsentInAFolderOfOthers(t *testing.T) {
	own := home(t)
	agreed, err := OpenAgreed()
	if err != nil {
		t.Fatal(err)
	}
	use := trust.Use{Host: "api.example.org"}
	if err := use.Ref.UnmarshalText([]byte("env:KEY")); err != nil {
		t.Fatal(err)
	}
	if err := agreed.Agree([]trust.Use{use}, trust.By{Actor: "ann"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(own, 0o777); err != nil {
		t.Fatal(err)
	}
	if got, err := agreed.Consents(); err == nil || len(got) > 0 || !strings.Contains(err.Error(), "chmod go-w "+own) {
		t.Errorf("%v, %v", got, err)
	}
	if err := agreed.Agree([]trust.Use{use}, trust.By{Actor: "ann"}, time.Now()); err == nil || !strings.Contains(err.Error(), "chmod go-w "+own) {
		t.Error(err)
	}
}

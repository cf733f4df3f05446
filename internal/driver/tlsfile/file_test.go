package tlsfile

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/core/link"
)

// A pipe is not waited for, and a device is not read to its end that never comes.
func TestTrust03OnlyRegularFilesAreRead(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero", t.TempDir()} {
		for _, s := range []link.Security{{CA: path}, {Cert: path, Key: path}} {
			if _, err := Config(s, "db.example.org"); err == nil || !strings.Contains(err.Error(), "no regular file") {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

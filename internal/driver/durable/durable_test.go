package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// What a power failure leaves no test sees; that the folder is really asked it does.
func TestSync(t *testing.T) {
	dir := t.TempDir()
	if err := SyncFolder(dir); err != nil {
		t.Error(err)
	}
	if err := SyncFolder(filepath.Join(dir, "missing")); runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := SyncRoot(root); err != nil {
		t.Error(err)
	}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	if err := SyncRoot(root); runtime.GOOS != "windows" && err == nil {
		t.Error("a folder that is closed was synced")
	}
}

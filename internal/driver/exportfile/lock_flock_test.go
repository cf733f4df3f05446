//go:build !windows

package exportfile

import (
	"os"
	"testing"
)

// On NFS only who may write to a file can lock it for himself.
func TestALockIsOpenForWriting(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"new", "new"} { // the second time it is there
		file, err := openLock(root, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString("x"); err != nil {
			t.Error(err)
		}
		_ = file.Close()
	}
}

// A lock that another account left cannot be written to, and holds nobody up.
func TestALockThatCannotBeWrittenToIsTaken(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write to everything")
	}
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err == nil {
		err = root.WriteFile(folderLock, nil, 0o444)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	held, err := lock(root, dir, folderLock)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil { // as in /tmp, where nobody removes what others left
		t.Fatal(err)
	}
	if err := held.release(); err != nil {
		t.Error(err)
	}
	if again, err := lock(root, dir, folderLock); err != nil {
		t.Error(err)
	} else if err := again.release(); err != nil {
		t.Error(err)
	}
	_ = os.Chmod(dir, 0o755) // or it could not be removed
}

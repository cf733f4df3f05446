//go:build !windows

package exportfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asNobody runs the test that calls it once more, under an account without rights.
func asNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	dir, err := os.MkdirTemp("", "nobody") // that of the test is for its own account alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program, err := os.ReadFile(os.Args[0]) // it lies where only its account may look
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "test"), program, 0o755)
	}
	if err == nil {
		err = os.Chown(dir, nobody, nobody)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), filepath.Join(dir, "test"), "-test.v", "-test.run=^"+t.Name()+"$")
	c.Dir, c.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

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
	if os.Geteuid() == 0 { // who may write to everything
		asNobody(t)
		return
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
	held, err := lockFile(root, dir, folderLock)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil { // as in /tmp, where nobody removes what others left
		t.Fatal(err)
	}
	if err := held.release(); err != nil {
		t.Error(err)
	}
	if again, err := lockFile(root, dir, folderLock); err != nil {
		t.Error(err)
	} else if err := again.release(); err != nil {
		t.Error(err)
	}
	_ = os.Chmod(dir, 0o755) // or it could not be removed
}

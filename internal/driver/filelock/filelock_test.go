package filelock

import (
	"os"
	"testing"
)

// A file is held once, until it is closed, and the name it had then may be another file's.
func TestAFileIsHeldOnce(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	open := func() *os.File {
		t.Helper()
		file, err := root.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	take := func(file *os.File, want bool) {
		t.Helper()
		if held, err := Take(file); err != nil || held != want {
			t.Fatalf("held %v, %v", held, err)
		}
	}
	first, second := open(), open()
	defer second.Close()
	take(first, true)
	take(second, false)
	if !StandsAs(root, "lock", first) {
		t.Error("the file has lost its name")
	}
	if err := root.Remove("lock"); err != nil {
		t.Fatal(err)
	}
	if StandsAs(root, "lock", first) {
		t.Error("a name that was removed still stands")
	}
	third := open()
	defer third.Close()
	take(third, true)
	if StandsAs(root, "lock", first) || !StandsAs(root, "lock", third) {
		t.Error("the name is taken for that of the former file")
	}
	first.Close()
	take(second, true)
	if StandsAs(root, "lock", first) {
		t.Error("a closed file stands")
	}
}

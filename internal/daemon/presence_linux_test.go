package daemon

import (
	"errors"
	"syscall"
	"testing"
)

// To tell that a secret is there its file is not even opened: the system is asked who
// opened it.
func TestTrust01PresenceOpensNoFile(t *testing.T) {
	h := newHouse(t)
	in := h.app.config.Installed
	path := h.write("key", "kanari-4711\n")
	watch, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(watch) })
	if _, err := syscall.InotifyAddWatch(watch, path, syscall.IN_OPEN|syscall.IN_ACCESS); err != nil {
		t.Fatal(err)
	}
	ref := h.ref("file:" + path)
	if !in.HasSecret(ref) || in.ShortSecret(ref) {
		t.Error("the key is not found, or taken for a short one")
	}
	if _, err := syscall.Read(watch, make([]byte, 4096)); !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("the file was opened to tell that it is there (%v)", err)
	}
}

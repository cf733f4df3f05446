package blob

import (
	"crypto/rand"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/need"
)

// F19 on a file system that is really full: whatever fitted is whole, and after a
// sweep there is room again.
func TestTinyDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k,nr_inodes=600"); err != nil {
		need.Missing(t, "only an administrator can mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := open(t, filepath.Join(disk, "raw"))
	var refs []string
	for {
		body := make([]byte, 24<<10) // of random bytes: does not shrink
		if _, err := rand.Read(body); err != nil {
			t.Fatal(err)
		}
		ref, _, err := s.Put(t.Context(), body, "", nil)
		if err != nil {
			refusedForRoom(t, s, body)
			break
		}
		refs = append(refs, ref)
	}
	if n := len(left(t, s, refs)); n != len(refs) || n < 5 {
		t.Errorf("%d of %d are whole", n, len(refs))
	}
	for _, ref := range refs[:3] {
		age(t, s.filePath(ref), 90*day)
	}
	swept, err := s.Sweep(t.Context(), time.Now(), 30*day, 0)
	if err != nil || swept.Files != 3 {
		t.Fatalf("%+v %v", swept, err)
	}
	put(t, s, "there is room again")
}

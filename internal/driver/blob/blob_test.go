package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func put(t *testing.T, s *Store, body string) string {
	t.Helper()
	ref, _, err := s.Put(t.Context(), []byte(body), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// files lists everything below the folder.
func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			out = append(out, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

// What is put comes back byte for byte, under the hash of what it is.
func TestRoundTrip(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "raw"))
	rapid.Check(t, func(r *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(r, "body")
		if rapid.Bool().Draw(r, "long") {
			body = bytes.Repeat(append(body, '-'), 3000)
		}
		ref, stored, err := s.Put(t.Context(), body, "", nil)
		if err != nil {
			r.Fatal(err)
		}
		if sum := sha256.Sum256(body); ref != hex.EncodeToString(sum[:]) {
			r.Fatalf("%s is not the hash", ref)
		}
		got, err := s.Get(t.Context(), ref)
		if err != nil || !bytes.Equal(got, body) {
			r.Fatalf("%d bytes became %d: %v", len(body), len(got), err)
		}
		if size, err := s.Stored(t.Context(), ref); size != stored || err != nil {
			r.Fatalf("takes %d, said %d: %v", size, stored, err)
		}
	})
	for _, path := range files(t, filepath.Join(s.Dir(), tempDir)) {
		t.Errorf("%s was left behind", path)
	}
}

func TestOpenWritesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raw")
	s := open(t, dir)
	if _, err := s.Get(t.Context(), strings.Repeat("ab", 32)); !errors.Is(err, fault.ErrNotFound) {
		t.Error(err)
	}
	if swept, err := s.Sweep(t.Context(), time.Now(), time.Hour, 1); err != nil || swept != (Swept{}) {
		t.Errorf("%+v %v", swept, err)
	}
	if n, size, err := s.Size(t.Context()); n != 0 || size != 0 || err != nil {
		t.Errorf("%d files, %d bytes, %v", n, size, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("looking made the folder")
	}
}

func TestOpenRefusesWhatIsNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", file} {
		if _, err := Open(dir, Options{}); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%q: %v", dir, err)
		}
	}
}

// A reference is a hash. Nothing else becomes a path.
func TestOnlyHashesAreRefs(t *testing.T) {
	s := open(t, t.TempDir())
	for _, ref := range []string{"", "ab", "../../etc/passwd", strings.Repeat("AB", 32), strings.Repeat("ab", 31) + "/.", strings.Repeat("ab", 33)} {
		if _, err := s.Get(t.Context(), ref); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("get %q: %v", ref, err)
		}
		if _, err := s.Stored(t.Context(), ref); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("size of %q: %v", ref, err)
		}
	}
}

func TestOnlyTheOwnerReads(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "raw"))
	path := s.filePath(put(t, s, "a body"))
	for name, want := range map[string]os.FileMode{s.Dir(): 0o700, filepath.Dir(path): 0o700, filepath.Join(s.Dir(), tempDir): 0o700, path: 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has %v, want %v", name, info.Mode().Perm(), want)
		}
	}
}

// F52: a file that changed on the disk is not taken for the body.
func TestDamage(t *testing.T) {
	s := open(t, t.TempDir())
	ref := put(t, s, strings.Repeat("a body that is compressed ", 100))
	other, err := os.ReadFile(s.filePath(put(t, s, "another body")))
	if err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(s.filePath(ref))
	if err != nil {
		t.Fatal(err)
	}
	for i := range sound {
		flipped := bytes.Clone(sound)
		flipped[i] ^= 0x10
		damaged(t, s, ref, flipped)
	}
	for _, content := range [][]byte{nil, sound[:len(sound)/2], append(bytes.Clone(sound), 'x'), other} {
		damaged(t, s, ref, content)
	}
}

func damaged(t *testing.T, s *Store, ref string, content []byte) {
	t.Helper()
	if err := os.WriteFile(s.filePath(ref), content, 0o600); err != nil {
		t.Fatal(err)
	}
	body, err := s.Get(t.Context(), ref)
	if err == nil && refOf(body) == ref {
		return // the flipped bit meant nothing: the body is right
	}
	if err == nil || !strings.Contains(err.Error(), "is damaged") || !strings.Contains(err.Error(), ref) || errors.Is(err, fault.ErrNotFound) {
		t.Errorf("%d bytes: %v", len(content), err)
	}
}

// A body that is there is not written again, but counts as new.
func TestSameBodyIsKeptOnce(t *testing.T) {
	s := open(t, t.TempDir())
	path := s.filePath(put(t, s, "twice"))
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	age(t, path, 40*24*time.Hour)
	put(t, s, "twice")
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("it was written again")
	}
	if time.Since(after.ModTime()) > 39*24*time.Hour {
		t.Error("it is still old")
	}
	if n, _, err := s.Size(t.Context()); n != 1 || err != nil {
		t.Errorf("%d files, %v", n, err)
	}
}

// age makes a file look older.
func age(t *testing.T, path string, by time.Duration) {
	t.Helper()
	at := time.Now().Add(-by)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// Somebody tidied up under the running program.
func TestFolderRemovedMeanwhile(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "raw"))
	put(t, s, "first")
	if err := os.RemoveAll(s.Dir()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), put(t, s, "second")); string(got) != "second" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

func TestStopped(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "raw"))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := s.Put(ctx, []byte("x"), "", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left := files(t, s.Dir()); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// Many writers of the same and of different bodies share one folder.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	var writers sync.WaitGroup
	for range 8 {
		s := open(t, dir) // as another process would
		writers.Go(func() {
			for i := range 40 {
				body := []byte(strings.Repeat("body", i))
				ref, _, err := s.Put(t.Context(), body, "", nil)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := s.Get(t.Context(), ref); err != nil || !bytes.Equal(got, body) {
					t.Errorf("body %d: %v", i, err)
				}
			}
		})
	}
	writers.Wait()
	if n, _, err := open(t, dir).Size(t.Context()); n != 40 || err != nil {
		t.Errorf("%d files, %v", n, err)
	}
}

// A hash that is known is taken as the name of the body: it is not hashed again. One that
// is wrong is noticed when the body is read, and what is no hash is refused: it would
// become a path.
func TestKnownHashIsTheName(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "raw"))
	body := []byte("a body whose hash is known")
	want := refOf(body)
	ref, _, err := s.Put(t.Context(), body, want, nil)
	if err != nil || ref != want || put(t, s, string(body)) != want {
		t.Fatalf("kept as %s, want %s: %v", ref, want, err)
	}
	if got, err := s.Get(t.Context(), ref); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%q %v", got, err)
	}
	wrong := refOf([]byte("another body"))
	if _, _, err := s.Put(t.Context(), body, wrong, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), wrong); err == nil {
		t.Errorf("a body came back under the name of another one: %q", got)
	}
	for _, no := range []string{"../../outside", want[:62], strings.ToUpper(want)} {
		if _, _, err := s.Put(t.Context(), body, no, nil); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%q was taken as a name: %v", no, err)
		}
	}
}

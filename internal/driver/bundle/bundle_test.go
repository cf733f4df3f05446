package bundle

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
)

var noon = time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC)

func TestBundleComesBack(t *testing.T) {
	parts := map[string][]byte{"manifest.json": []byte("{}"), "body": bytes.Repeat([]byte("body "), 1000), "batch.json": nil}
	content, err := Encode(parts, noon)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Encode(parts, noon); err != nil || !bytes.Equal(content, again) {
		t.Error("equal parts give other bytes")
	}
	if len(content) > 1000 {
		t.Errorf("%d bytes: not packed", len(content))
	}
	path := filepath.Join(t.TempDir(), "b.zip")
	if err := Write(path, content); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	parts["batch.json"] = []byte{}
	if err != nil || !reflect.DeepEqual(got, parts) {
		t.Errorf("%v %q", err, got)
	}
	for _, err := range []error{Write(path, content), Free(path)} {
		if !errors.Is(err, fault.ErrConflict) {
			t.Errorf("a name that is taken: %v", err)
		}
	}
	if err := Free(filepath.Join(t.TempDir(), "none", "b.zip")); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("no folder: %v", err)
	}
}

// A35: names that lead elsewhere, names that come twice, what is no zip, and what
// claims more than it holds.
func TestForeignFilesAreRefused(t *testing.T) {
	made := func(names ...string) []byte {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, name := range names {
			part, err := w.Create(name)
			if err == nil {
				_, err = part.Write([]byte("x"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	whole, err := Encode(map[string][]byte{"body": bytes.Repeat([]byte("0123456789"), 1000)}, noon)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/3] ^= 0xff
	for name, content := range map[string][]byte{
		"no zip": []byte("hello"), "empty": nil, "a path": made("../body"), "absolute": made("/etc/passwd"), "another name": made("body", "extra"),
		"twice": made("body", "body"), "cut": whole[:len(whole)-30], "a flipped byte": flipped,
	} {
		if parts, err := Decode(content); !errors.Is(err, blackbox.ErrTampered) {
			t.Errorf("%s: %v, %v", name, parts, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.zip")); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("no file: %v", err)
	}
	if _, err := Read(t.TempDir()); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("a folder: %v", err)
	}
}

// What a part may have at most is counted while it is read, whatever it says.
func TestPartsAreCapped(t *testing.T) {
	content, err := Encode(map[string][]byte{"body": make([]byte, 10_000)}, noon)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(r.File[0], 9_999); err == nil {
		t.Error("a part that is too large was read")
	}
	if part, err := unpack(r.File[0], 10_000); err != nil || len(part) != 10_000 {
		t.Errorf("%d bytes, %v", len(part), err)
	}
}

func FuzzDecode(f *testing.F) {
	content, err := Encode(map[string][]byte{"manifest.json": []byte(`{"format":1}`), "body": []byte("x")}, noon)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Fuzz(func(t *testing.T, content []byte) {
		parts, err := Decode(content)
		if err == nil {
			_, _, _, _ = blackbox.Unpack(parts, "", noon)
		}
	})
}

func TestOnlyTheOwnerReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "b.zip")
	if err := Write(path, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

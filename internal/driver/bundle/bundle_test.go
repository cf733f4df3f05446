package bundle

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

var noon = time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC)

// packed is a bundle with parts that fit its manifest, which is made here.
func packed(t testing.TB, parts map[string][]byte) map[string][]byte {
	t.Helper()
	m := blackbox.Manifest{Format: 1, ExpiresAt: noon.Add(time.Hour)}
	out := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		m.Parts = append(m.Parts, blackbox.Part{Name: name, Bytes: len(parts[name]), SHA256: fingerprint.Bytes(parts[name])})
		out[name] = parts[name]
	}
	out[blackbox.ManifestName] = sealed(t, m)
	return out
}

// sealed is the text of a manifest under a seal that fits it.
func sealed(t testing.TB, m blackbox.Manifest) []byte {
	t.Helper()
	var err error
	if m.Seal, err = fingerprint.Of(m); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decode(content []byte) (map[string][]byte, error) {
	return Decode(bytes.NewReader(content), int64(len(content)), "", noon)
}

func TestBundleComesBack(t *testing.T) {
	parts := packed(t, map[string][]byte{"body": bytes.Repeat([]byte("body "), 1000), "batch.json": nil})
	content, err := Encode(parts, noon)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Encode(parts, noon); err != nil || !bytes.Equal(content, again) {
		t.Error("equal parts give other bytes")
	}
	if len(content) > 2000 {
		t.Errorf("%d bytes: not packed", len(content))
	}
	path := filepath.Join(t.TempDir(), "b.zip")
	if err := Write(path, content); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path, "", noon)
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
	whole, err := Encode(packed(t, map[string][]byte{"body": bytes.Repeat([]byte("0123456789"), 1000)}), noon)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/3] ^= 0xff
	for name, content := range map[string][]byte{
		"no zip": []byte("hello"), "empty": nil, "a path": made("../body"), "absolute": made("/etc/passwd"), "another name": made("body", "extra"),
		"twice": made("body", "body"), "cut": whole[:len(whole)-30], "a flipped byte": flipped,
	} {
		if parts, err := decode(content); !errors.Is(err, blackbox.ErrTampered) {
			t.Errorf("%s: %v, %v", name, parts, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.zip"), "", noon); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("no file: %v", err)
	}
	if _, err := Read(t.TempDir(), "", noon); !errors.Is(err, fault.ErrInvalid) {
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
	if _, err := unpackPart(r.File[0], 9_999); err == nil {
		t.Error("a part that is too large was read")
	}
	if part, err := unpackPart(r.File[0], 10_000); err != nil || len(part) != 10_000 {
		t.Errorf("%d bytes, %v", len(part), err)
	}
}

func FuzzDecode(f *testing.F) {
	content, err := Encode(packed(f, map[string][]byte{"body": []byte("x")}), noon)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Fuzz(func(t *testing.T, content []byte) {
		parts, err := decode(content)
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

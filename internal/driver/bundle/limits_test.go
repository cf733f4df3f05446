package bundle

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

// bomb is a file whose parts are packed as tightly as zip can, whatever its manifest
// says of them.
func bomb(t testing.TB, manifest []byte, name string, size int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, part := range []struct {
		name  string
		chunk []byte
		times int
	}{{blackbox.ManifestName, manifest, 1}, {name, make([]byte, 1<<20), size >> 20}} {
		to, err := w.Create(part.name)
		for range part.times {
			if err == nil {
				_, err = to.Write(part.chunk)
			}
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

func claiming(t testing.TB, name string, size int) []byte {
	return sealed(t, blackbox.Manifest{Format: 1, ExpiresAt: noon.Add(time.Hour), Parts: []blackbox.Part{{Name: name, Bytes: size}}})
}

// A file that becomes a thousand times its size is refused by what it says of itself,
// before it is unpacked.
func TestTrust07BundlesAreCappedByTheirManifest(t *testing.T) {
	const big = 64 << 20
	for what, content := range map[string][]byte{
		"a body of zeros, as the manifest says":         bomb(t, claiming(t, "body", big), "body", big),
		"a body of zeros, which the manifest hides":     bomb(t, claiming(t, "body", 10), "body", big),
		"a body the manifest does not list":             bomb(t, sealed(t, blackbox.Manifest{Format: 1, ExpiresAt: noon.Add(time.Hour)}), "body", big),
		"a part of JSON that is too large":              bomb(t, claiming(t, "events.json", big), "events.json", big),
		"a manifest of zeros":                           bomb(t, make([]byte, 48<<20), "body", 1<<20),
		"a size that is negative":                       bomb(t, claiming(t, "body", -1), "body", big),
		"sizes whose sum wraps":                         bomb(t, sealed(t, blackbox.Manifest{Format: 1, ExpiresAt: noon.Add(time.Hour), Parts: []blackbox.Part{{Name: "body", Bytes: 1 << 62}, {Name: "body", Bytes: 1 << 62}}}), "body", big),
		"a directory of a hundred thousand names":       crowd(t, 100_000),
		"a directory that counts its names modulo 2^16": crowd(t, 1<<16+2),
	} {
		used := allocated(func() {
			if parts, err := decode(content); !errors.Is(err, blackbox.ErrTampered) {
				t.Errorf("%s: %d parts, %v", what, len(parts), err)
			}
		})
		if used > 32<<20 {
			t.Errorf("%s: %d MB were taken for a file of %d KB", what, used>>20, len(content)>>10)
		}
	}
}

// crowd is a zip with many empty files.
func crowd(t testing.TB, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := range n {
		if _, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i), Method: zip.Store}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Who was told a seal has nothing of another bundle unpacked.
func TestTrust07SealOfABundleIsCheckedFirst(t *testing.T) {
	parts := packed(t, map[string][]byte{"body": bytes.Repeat([]byte("0123456789"), 1_000_000)})
	content, err := Encode(parts, noon)
	if err != nil {
		t.Fatal(err)
	}
	used := allocated(func() {
		if _, err := Decode(bytes.NewReader(content), int64(len(content)), strings.Repeat("0", 64), noon); !errors.Is(err, blackbox.ErrTampered) {
			t.Error(err)
		}
	})
	if used > 4<<20 {
		t.Errorf("%d MB were taken", used>>20)
	}
	if _, err := Decode(bytes.NewReader(content), int64(len(content)), "", noon.Add(2*time.Hour)); !errors.Is(err, blackbox.ErrExpired) {
		t.Error(err)
	}
}

// Parts of JSON with a million small values are refused before a value is made of each.
func TestTrust07PartsOfManyValues(t *testing.T) {
	content, err := Encode(packed(t, map[string][]byte{"events.json": []byte("[" + strings.Repeat("{},", 3_000_000) + "{}]")}), noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode(content); !errors.Is(err, blackbox.ErrTampered) || !strings.Contains(err.Error(), "more values") {
		t.Error(err)
	}
}

// An honest body that shrinks to nothing is still read: it is not packed.
func TestWhatShrinksToNothingIsStored(t *testing.T) {
	body := make([]byte, 20<<20)
	content, err := Encode(packed(t, map[string][]byte{"body": body}), noon)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := decode(content)
	if err != nil || fingerprint.Bytes(parts["body"]) != fingerprint.Bytes(body) {
		t.Errorf("%d bytes, %v", len(parts["body"]), err)
	}
}

// allocated is how many bytes a step takes from the heap, garbage included.
func allocated(step func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	step()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

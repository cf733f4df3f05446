package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/retention"
)

// forged is a file of some rows whose index is written by somebody else.
func forged(rows []byte, index string) []byte {
	out := binary.LittleEndian.AppendUint32(bytes.Clone(rows), skippable)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(index)+tail))
	out = append(out, index...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(index)))
	return append(out, endMark...)
}

// forgeries are files whose index asks for what the file does not have.
func forgeries() map[string][]byte {
	rows := make([]byte, 100)
	lying := forged(rows, `{"parts":[]}`)
	binary.LittleEndian.PutUint32(lying[len(lying)-tail:], 1<<32-1)
	return map[string][]byte{
		"a size of 2^62":          forged(rows, `{"parts":[{"offset":0,"size":4611686018427387904}]}`),
		"a sum that wraps":        forged(rows, `{"parts":[{"offset":4611686018427387904,"size":4611686018427387904}]}`),
		"the largest numbers":     forged(rows, `{"parts":[{"offset":9223372036854775807,"size":9223372036854775807}]}`),
		"a negative offset":       forged(rows, `{"parts":[{"offset":-1,"size":50}]}`),
		"a negative size":         forged(rows, `{"parts":[{"offset":0,"size":-1}]}`),
		"one part twice":          forged(rows, `{"parts":[{"offset":0,"size":50},{"offset":0,"size":50}]}`),
		"a gap":                   forged(rows, `{"parts":[{"offset":0,"size":50},{"offset":60,"size":40}]}`),
		"into the index":          forged(rows, `{"parts":[{"offset":0,"size":120}]}`),
		"parts of nothing":        forged(rows, `{"parts":[`+strings.Repeat("{},", 1_000_000)+`{}]}`),
		"a large number":          forged(rows, `{"parts":[{"offset":0,"size":1e99}]}`),
		"many levels":             forged(rows, `{"parts":[{"offset":0,"size":50,"lineage":{`+manyLevels(1000)+`}}]}`),
		"no object":               forged(rows, `[]`),
		"twice parts":             forged(rows, `{"parts":[],"parts":[]}`),
		"another member":          forged(rows, `{"parts":[],"more":1}`),
		"a length of 4 GB":        lying,
		"an index of its own":     forged(nil, strings.Repeat("[", 1_000_000)),
		"more after the index":    forged(rows, `{"parts":[]} {"parts":[]}`),
		"an end mark and no more": []byte("\x00\x00\x00\x00" + endMark),
	}
}

func manyLevels(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`"level%d":[1,2]`, i))
	}
	return strings.Join(out, ",")
}

// A forged index is refused for what it says, before memory is taken for it.
func TestTrust07ForgedIndexIsRefused(t *testing.T) {
	s := open(t)
	if err := os.MkdirAll(s.Dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for what, content := range forgeries() {
		if err := os.WriteFile(filepath.Join(s.Dir(), name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		used := allocated(func() {
			if err := s.Rows(t.Context(), retention.File{Name: name}, nil, func(retention.Row) error { return nil }); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v", what, err)
			}
		})
		if used > 64<<20 {
			t.Errorf("%s: %d MB were taken for %d bytes", what, used>>20, len(content))
		}
		heads, err := s.Heads(t.Context(), nil, false)
		if err != nil || len(heads) != 1 || heads[0].Broken == "" {
			t.Errorf("%s: %+v, %v", what, heads, err)
		}
	}
}

// A file that is not the one that was sealed is refused by its size or its hash,
// whatever its index says.
func TestTrust07SealIsCheckedFirst(t *testing.T) {
	s, rows := open(t), batches(300)
	sealed := write(t, s, rows)
	path := filepath.Join(s.Dir(), name)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Clone(whole)
	other[len(other)/2] ^= 1
	for what, content := range map[string][]byte{"a byte differs": other, "it is longer": append(bytes.Clone(whole), 0), "forged": forgeries()["a size of 2^62"]} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		err := s.Rows(t.Context(), sealed, nil, func(retention.Row) error { t.Errorf("%s: a row was read", what); return errors.New("enough") })
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "patra db archive check") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := s.Rows(t.Context(), sealed, nil, func(retention.Row) error { n++; return nil }); err != nil || n != len(rows) {
		t.Errorf("%d rows, %v", n, err)
	}
}

// FuzzIndex: whatever a file says of itself, it is read within its bounds or refused.
func FuzzIndex(f *testing.F) {
	s := open(f)
	write(f, s, batches(3))
	whole, err := os.ReadFile(filepath.Join(s.Dir(), name))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, content []byte) {
		i, err := readIndex(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return
		}
		end := int64(0)
		for _, p := range i.Parts {
			if p.Offset != end || p.Size <= 0 || p.Size > int64(len(content))-p.Offset {
				t.Fatalf("%+v in %d bytes", p, len(content))
			}
			end = p.Offset + p.Size
		}
		_ = visitRows(context.Background(), name, bytes.NewReader(content), int64(len(content)), nil, func(retention.Row) error { return nil })
	})
}

// allocated is how many bytes a step takes from the heap, garbage included.
func allocated(step func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	step()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

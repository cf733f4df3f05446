package secret

import (
	"bytes"
	"testing"
)

// BenchmarkMasker is what every page of a source with a credential costs.
func BenchmarkMasker(b *testing.B) {
	page := bytes.Repeat([]byte(`{"DOI":"10.5555/abc","title":["A study of +plain/ text"],"author":[{"given":"Jane","family":"Doe"}],"hash":"0123456789abcdef"},`), 4000)
	b.SetBytes(int64(len(page)))
	m := NewMasker(New("sk-4f9c1e77aa0b4cd18e"))
	for b.Loop() {
		m.Bytes(page)
	}
}

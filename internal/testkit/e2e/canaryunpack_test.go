package e2e

import (
	"bytes"
	"compress/gzip"
	"html"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// addUnpacked adds what was left behind as it is, and as it was before it was
// packed. A stored body has the four bytes of its checksum behind it.
func (a artefacts) addUnpacked(name string, content []byte) {
	most := 1000 * (len(content) + 1)
	a.add(name, content)
	for _, packed := range [][]byte{content, content[:max(0, len(content)-4)]} {
		if n, err := s2.DecodedLen(packed); err != nil || n > most { // most bytes are no s2 at all, and would ask for gigabytes
			continue
		}
		if plain, err := s2.Decode(nil, packed); err == nil && len(plain) > 0 {
			a.add(name, plain)
		}
	}
	if unzipped, err := gzip.NewReader(bytes.NewReader(content)); err == nil {
		plain, _ := io.ReadAll(unzipped)
		a.add(name, plain)
	}
	if !bytes.HasPrefix(content, []byte("\x28\xb5\x2f\xfd")) {
		return
	}
	if frames, err := zstd.NewReader(bytes.NewReader(content)); err == nil {
		plain, _ := io.ReadAll(frames) // as far as there are frames: an archive ends with an index
		a.add(name, plain)
		frames.Close()
	}
}

// parts cuts a content, so that its layers take little memory. Parts overlap by more
// than the longest spelling.
func parts(content []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		const size, overlap = 1 << 20, 64 << 10
		for at := 0; at == 0 || at+overlap < len(content); at += size {
			if !yield(content[at:min(len(content), at+size+overlap)]) {
				return
			}
		}
	}
}

// layers are a content as it is, and after each time its escapes were read, until
// there are none left. It knows nothing of how the program looks for a secret.
func layers(content []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		const most = 5
		text := string(content)
		for range most {
			if !yield([]byte(text)) {
				return
			}
			next := readEscapes(text)
			if next == text {
				return
			}
			text = next
		}
	}
}

// readEscapes reads every escape of a text once.
func readEscapes(text string) string {
	text = strings.NewReplacer("<![CDATA[", "", "]]>", "").Replace(text)
	var out strings.Builder
	for {
		at := strings.IndexAny(text, `\%&`)
		if at < 0 {
			break
		}
		out.WriteString(text[:at])
		plain, size := readEscape(text[at:])
		if size == 0 {
			plain, size = text[at:at+1], 1
		}
		out.WriteString(plain)
		text = text[at+size:]
	}
	out.WriteString(text)
	return out.String()
}

// readEscape reads one; its size is 0 if it is none.
func readEscape(rest string) (plain string, size int) {
	switch {
	case rest[0] == '&':
		const longest = 12
		if end := strings.IndexByte(rest[:min(len(rest), longest)], ';'); end > 0 {
			if plain := html.UnescapeString(rest[:end+1]); plain != rest[:end+1] {
				return plain, end + 1
			}
		}
	case rest[0] == '%' && len(rest) >= 3:
		if n, err := strconv.ParseUint(rest[1:3], 16, 8); err == nil {
			return string([]byte{byte(n)}), 3
		}
	case len(rest) >= 6 && rest[1] == 'u':
		if n, err := strconv.ParseUint(rest[2:6], 16, 16); err == nil {
			return string(rune(n)), 6
		}
	case len(rest) >= 2 && strings.IndexByte(`"\/`, rest[1]) >= 0:
		return rest[1:2], 2
	}
	return "", 0
}

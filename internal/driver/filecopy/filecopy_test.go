package filecopy

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
)

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// take copies a text as one answer would bring it.
func take(t *testing.T, f *Folder, key string, body []byte) *Copy {
	t.Helper()
	c := must[*Copy](t)(f.Take(key))
	if err := c.Begin(200, exchange.Header{"Etag": {`"1"`}}, int64(len(body))); err != nil {
		t.Fatal(err)
	}
	must[int](t)(c.Write(body))
	must[files.Copy](t)(c.Finish())
	return c
}

func pack(t *testing.T, how files.Packing, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser = struct {
		io.Writer
		io.Closer
	}{&out, io.NopCloser(nil)}
	switch how {
	case files.Gzip:
		w = gzip.NewWriter(&out)
	case files.Zstd:
		w = must[*zstd.Encoder](t)(zstd.NewWriter(&out))
	case files.Zip:
		z := zip.NewWriter(&out)
		in := must[io.Writer](t)(z.Create("../../etc/passwd.json")) // its name leads nowhere
		must[int](t)(in.Write([]byte(text)))
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	must[int](t)(w.Write([]byte(text)))
	if how != files.Plain {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func readAll(c *Copy, how files.Config) (string, error) {
	u, err := c.Open(how, document.FormatJSONL)
	if err != nil {
		return "", err
	}
	defer u.Close()
	text, err := io.ReadAll(u)
	return string(text), err
}

// A packed file is unpacked; one that is cut anywhere, or in which a bit is another one, is never
// taken for whole where the packing shows that (D§5.26).
func TestUnpackRefusesWhatIsNotWhole(t *testing.T) {
	text := strings.Repeat(`{"id":1,"title":"a title"}`+"\n", 200)
	for _, how := range []files.Packing{files.Plain, files.Gzip, files.Zstd, files.Zip} {
		f := New(t.TempDir())
		config := files.Config{Addresses: []string{"a"}, Packed: how}.WithDefaults()
		body := pack(t, how, text)
		c := take(t, f, "whole", body)
		if got, err := readAll(c, config); err != nil || got != text {
			t.Fatalf("%s: %d bytes, %v", how, len(got), err)
		}
		if how == files.Plain {
			continue
		}
		for cut := 0; cut < len(body); cut++ {
			if got, err := readAll(take(t, f, fmt.Sprint("cut", cut), body[:cut]), config); err == nil {
				t.Fatalf("%s cut at %d of %d is taken for whole: %d bytes", how, cut, len(body), len(got))
			} else if fault.As(err).Code != fault.BadBody {
				t.Fatalf("%s cut at %d: %v", how, cut, err)
			}
		}
		for at := 0; at < len(body); at++ {
			flipped := bytes.Clone(body)
			flipped[at] ^= 1 << (at % 8)
			if got, err := readAll(take(t, f, fmt.Sprint("bit", at), flipped), config); err == nil && got != text {
				t.Fatalf("%s: a bit of byte %d is another one, and other content came", how, at)
			}
		}
	}
}

// A few bytes that become very many are refused before they fill anything.
func TestUnpackBoundsBombs(t *testing.T) {
	f := New(t.TempDir())
	zeros := strings.Repeat("\x00", 40<<20)
	for _, how := range []files.Packing{files.Gzip, files.Zstd, files.Zip} {
		config := files.Config{Addresses: []string{"a"}, Packed: how}.WithDefaults()
		c := take(t, f, "bomb-"+string(how), pack(t, how, zeros))
		if got, err := readAll(c, config); err == nil || fault.As(err).Code != fault.TooLarge {
			t.Errorf("%s: %d bytes, %v", how, len(got), err)
		}
		config.MaxBytes = 100
		if got, err := readAll(take(t, f, "most-"+string(how), pack(t, how, strings.Repeat("ab", 100))), config); err == nil || !strings.Contains(err.Error(), "maxBytes") {
			t.Errorf("%s: %d bytes, %v", how, len(got), err)
		}
	}
}

// The names of the files in a ZIP lead nowhere: nothing is written by them.
func TestZipWritesNothing(t *testing.T) {
	dir := t.TempDir()
	c := take(t, New(filepath.Join(dir, "files")), "z", pack(t, files.Zip, "[]"))
	if got, err := readAll(c, files.Config{Addresses: []string{"a"}, Packed: files.Zip, Entry: ".json"}.WithDefaults()); err != nil || got != "[]" {
		t.Fatalf("%q %v", got, err)
	}
	if _, err := readAll(c, files.Config{Addresses: []string{"a"}, Packed: files.Zip, Entry: ".xml"}.WithDefaults()); err == nil || !strings.Contains(err.Error(), "files.entry") {
		t.Errorf("an entry that is not there: %v", err)
	}
	if entries := must[[]os.DirEntry](t)(os.ReadDir(dir)); len(entries) != 1 {
		t.Errorf("%v", entries)
	}
}

// A part is gone on with, also by another process, if the rest is a part of the same file.
func TestCopyGoesOn(t *testing.T) {
	dir := t.TempDir()
	c := must[*Copy](t)(New(dir).Take("k"))
	if err := c.Begin(200, exchange.Header{"Etag": {`"1"`}}, 10); err != nil {
		t.Fatal(err)
	}
	must[int](t)(c.Write([]byte("01234")))
	if _, err := New(dir).Take("k"); err == nil {
		t.Fatal("two hold one copy")
	}
	if err := c.Close(); err != nil { // the process ends
		t.Fatal(err)
	}
	c = must[*Copy](t)(New(dir).Take("k"))
	if have, of := c.Have(); have != 5 || of != `etag "1"` {
		t.Fatalf("%d %q", have, of)
	}
	if err := c.Begin(206, exchange.Header{"Etag": {`"1"`}, "Content-Range": {"bytes 5-9/10"}}, 5); err != nil {
		t.Fatal(err)
	}
	must[int](t)(c.Write([]byte("56789")))
	if whole := must[files.Copy](t)(c.Finish()); whole.Size != 10 || whole.MD5 != "781e5e245d69b566979b86e28d23f2c7" {
		t.Errorf("%+v", whole)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = must[*Copy](t)(New(dir).Take("k"))
	if _, _, whole := c.Whole(); !whole {
		t.Error("a whole copy is not known to be one")
	}
	if err := c.Drop(); err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string]exchange.Header{
		"of another file":     {"Etag": {`"2"`}, "Content-Range": {"bytes 5-9/10"}},
		"behind a hole":       {"Etag": {`"1"`}, "Content-Range": {"bytes 7-9/10"}},
		"that says not which": {"Etag": {`"1"`}},
	} {
		if err := c.Begin(200, exchange.Header{"Etag": {`"1"`}}, 10); err != nil {
			t.Fatal(err)
		}
		must[int](t)(c.Write([]byte("01234")))
		if err := c.Begin(206, header, 5); err == nil {
			t.Errorf("a part %s is taken", name)
		}
	}
	if err := c.Begin(200, exchange.Header{}, 1<<60); !errors.Is(err, fault.ErrFull) {
		t.Errorf("a file for which there is no room: %v", err)
	}
}

package filecopy

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
)

// member is a file of an archive.
type member struct {
	name, text string
	kind       byte
}

// archived makes an archive, packed or not.
func archived(t *testing.T, packed bool, all ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	var to io.Writer = &out
	var z *gzip.Writer
	if packed {
		z = gzip.NewWriter(&out)
		to = z
	}
	w := tar.NewWriter(to)
	for _, m := range all {
		head := &tar.Header{Name: m.name, Size: int64(len(m.text)), Mode: 0o600, Typeflag: tar.TypeReg}
		if m.kind != 0 {
			head.Typeflag, head.Size, head.Linkname = m.kind, 0, "/etc/passwd"
			m.text = ""
		}
		if err := w.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		must[int](t)(w.Write([]byte(m.text)))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if packed {
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// people are records as one small file each, with a folder and a note beside them.
func people(n int) (all []member, document string) {
	all = append(all, member{"summaries/", "", tar.TypeDir}, member{"README.txt", "no record", 0})
	document = "<archive>"
	for i := range n {
		root := fmt.Sprintf(`<r:record xmlns:r="urn:r" path="/%d"><r:name>%s &lt;%d</r:name></r:record>`, i, strings.Repeat("x", i%7*90), i)
		all = append(all, member{fmt.Sprintf("../../summaries/%03d/%d.xml", i%10, i), "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- one -->" + root + "\n", 0})
		document += root
	}
	return all, document + "</archive>"
}

// unpackArchive reads a copy of an archive to its end.
func unpackArchive(t *testing.T, f *Folder, key string, body []byte, how files.Config, format document.Format) (string, error) {
	t.Helper()
	c := take(t, f, key, body)
	defer c.Close()
	how = how.WithDefaults()
	how.MaxBytes = files.DefaultMaxBytes
	u, err := c.Open(how, format)
	if err != nil {
		return "", err
	}
	defer u.Close()
	text, err := io.ReadAll(u)
	return string(text), err
}

// The files of an archive come as one document. An archive that is cut anywhere, between two files too, never ends.
func TestAnArchiveIsOneDocument(t *testing.T) {
	f := New(t.TempDir())
	all, want := people(6)
	for _, packing := range []files.Packing{files.Tar, files.TarGzip} {
		how, body := files.Config{Packed: packing, Entry: ".xml"}, archived(t, packing == files.TarGzip, all...)
		if got, err := unpackArchive(t, f, "whole", body, how, document.FormatXML); err != nil || got != want {
			t.Fatalf("%s: %v\n%s\n%s", packing, err, got, want)
		}
		step := 1
		if packing == files.Tar {
			step = 64 // every place where a file or a block ends is among them
		}
		for n := 0; n < len(body)-1023; n += step { // less than the last of two blocks may be left away
			if got, err := unpackArchive(t, f, fmt.Sprint("cut", packing, n), body[:n], how, document.FormatXML); err == nil {
				t.Fatalf("%s, cut at %d of %d: %s", packing, n, len(body), got)
			}
		}
	}
}

// What is in an archive stays in its place: nothing reaches out of its file, no link is followed, no bomb is read.
func TestWhatAnArchiveMayNotHold(t *testing.T) {
	f := New(t.TempDir())
	good := member{"a.xml", "<r>1</r>", 0}
	for name, c := range map[string]struct {
		body   []byte
		format document.Format
		code   fault.Code
		says   string
	}{
		"closes the root":       {archived(t, false, good, member{"b.xml", "<r/></archive><archive>", 0}), document.FormatXML, fault.BadBody, "no start"},
		"is not closed":         {archived(t, false, member{"b.xml", "<r><s></s>", 0}, good), document.FormatXML, fault.BadBody, "cut"},
		"two roots":             {archived(t, false, member{"b.xml", "<r/><r/>", 0}), document.FormatXML, fault.BadBody, "several roots"},
		"text behind":           {archived(t, false, member{"b.xml", "<r/>text", 0}), document.FormatXML, fault.BadBody, "cut"},
		"text before":           {archived(t, false, member{"b.xml", "text<r/>", 0}), document.FormatXML, fault.BadBody, "outside of the root"},
		"a doctype":             {archived(t, false, member{"b.xml", `<!DOCTYPE r [<!ENTITY x "y">]><r>&x;</r>`, 0}), document.FormatXML, fault.BadBody, "DOCTYPE"},
		"another encoding":      {archived(t, false, member{"b.xml", `<?xml version="1.0" encoding="latin1"?><r/>`, 0}), document.FormatXML, fault.BadBody, "UTF-8"},
		"nothing":               {archived(t, false, member{"b.xml", "", 0}), document.FormatXML, fault.BadBody, "cut"},
		"a link":                {archived(t, false, member{"b.xml", "", tar.TypeSymlink}), document.FormatXML, fault.BadBody, "link"},
		"a device":              {archived(t, false, member{"b.xml", "", tar.TypeChar}), document.FormatXML, fault.BadBody, "link or a device"},
		"more behind":           {append(archived(t, false, good), "more"...), document.FormatXML, fault.BadBody, "more after the end"},
		"two objects":           {archived(t, false, member{"b.json", `{"a":1},{"a":2}`, 0}), document.FormatJSON, fault.BadBody, "more after the JSON object"},
		"closes the array":      {archived(t, false, member{"b.json", `{"a":1}]`, 0}), document.FormatJSON, fault.BadBody, "more after the JSON object"},
		"an object that is cut": {archived(t, false, member{"b.json", `{"a":"1}`, 0}), document.FormatJSON, fault.BadBody, "cut"},
		"no object":             {archived(t, false, member{"b.json", `1`, 0}), document.FormatJSON, fault.BadBody, "not a JSON object"},
		"a large file":          {archived(t, false, member{"b.json", `{"a":"` + strings.Repeat("x", files.DefaultItemBytes) + `"}`, 0}), document.FormatJSON, fault.TooLarge, "more than"},
		"a bomb passed over":    {archived(t, true, member{"zeros", strings.Repeat("\x00", 60<<20), 0}, good), document.FormatXML, fault.TooLarge, "expands"},
		"no archive":            {[]byte(strings.Repeat("no archive ", 100)), document.FormatXML, fault.BadBody, "cannot be unpacked"},
	} {
		t.Run(name, func(t *testing.T) {
			how := files.Config{Packed: files.Tar}
			if bytes.HasPrefix(c.body, []byte{0x1f, 0x8b}) {
				how = files.Config{Packed: files.TarGzip, Entry: ".xml"}
			}
			got, err := unpackArchive(t, f, strings.ReplaceAll(name, " ", "-"), c.body, how, c.format)
			if err == nil || fault.As(err).Code != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %s %q\n%.200s", err, c.code, c.says, got)
			}
		})
	}
}

// Who goes on behind any part of an archive reads the rest of it, and every item once.
func TestAnArchiveIsGoneOnWith(t *testing.T) {
	f := New(t.TempDir())
	all, _ := people(50)
	c := take(t, f, "people", archived(t, true, all...))
	defer c.Close()
	how := files.Config{Packed: files.TarGzip, Entry: ".xml", MaxBytes: files.DefaultMaxBytes}
	from, seen := files.Position{}, int64(0)
	for last := false; !last; {
		u := must[*Unpacked](t)(c.Open(how, document.FormatXML))
		s := must[*files.Splitter](t)(files.NewSplitter(u, document.FormatXML, document.CSV{}, files.Limits{ChunkItems: 7}))
		if err := s.SkipTo(from); err != nil {
			t.Fatal(err)
		}
		chunk := must[files.Chunk](t)(s.Next())
		if n := int64(bytes.Count(chunk.Body, []byte("<r:record "))); n != int64(chunk.Items) || !strings.Contains(string(chunk.Body)+`path="/50"`, fmt.Sprintf(`path="/%d"`, seen)) {
			t.Fatalf("%d of %d items behind %d: %s", n, chunk.Items, seen, chunk.Body)
		}
		from, seen, last = chunk.After, seen+int64(chunk.Items), chunk.Last
		if err := u.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if seen != 50 {
		t.Errorf("%d of 50 items", seen)
	}
}

package e2e

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/testkit/check"
)

// artefacts is everything a program left behind, by name, without compression.
type artefacts map[string][]byte

func (a artefacts) add(name string, content []byte) {
	a[name] = append(a[name], content...)
	a[name] = append(a[name], 0)
}

// spelled is how a secret may stand somewhere once all escapes are read
// (RELIABILITY invariant 19): as it is, in base64 at any offset, in hex, and in
// halves that a limit may have cut. All in small letters.
func spelled(secret string) (out []string) {
	out = []string{secret, hex.EncodeToString([]byte(secret))}
	for shift := range 3 {
		for _, coding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := coding.EncodeToString([]byte(strings.Repeat("\x00", shift) + secret))
			out = append(out, text[(shift*8+5)/6:(shift+len(secret))*8/6])
		}
	}
	if half := len(secret) / 2; half >= 8 {
		out = append(out, secret[:half], secret[half:])
	}
	for i := range out {
		out[i] = strings.ToLower(out[i])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// find tells where any spelling of the secrets stands, by what they are: in what
// was left behind as it is, and after each reading of its escapes. All are looked
// for at once, by how they begin: there are megabytes to look through.
func (a artefacts) find(secrets map[string]string) (places []string) {
	begins := map[[begin]byte][]spelling{}
	for what, secret := range secrets {
		for _, form := range spelled(secret) {
			key := [begin]byte([]byte(form[:begin]))
			begins[key] = append(begins[key], spelling{what, form})
		}
	}
	for name, content := range a {
		told := map[string]bool{}
		for part := range parts(content) {
			for layer := range layers(part) {
				places = append(places, findIn(name, bytes.ToLower(layer), begins, told)...)
			}
		}
	}
	slices.Sort(places)
	return places
}

const begin = 8

type spelling struct{ what, form string }

func findIn(name string, content []byte, begins map[[begin]byte][]spelling, told map[string]bool) (places []string) {
	for at := 0; at+begin <= len(content); at++ {
		for _, s := range begins[[begin]byte(content[at:at+begin])] {
			if !told[s.what] && bytes.HasPrefix(content[at:], []byte(s.form)) {
				told[s.what] = true
				places = append(places, fmt.Sprintf("%s stands in %s: …%q…", s.what, name, content[max(0, at-60):min(len(content), at+len(s.form)+20)]))
			}
		}
	}
	return places
}

// The search itself must be able to find.
func TestCanarySearchFinds(t *testing.T) {
	const secret = `K7<&/+0123456789abcdef01`
	forms := append(spelled(secret), page([]string{secret}), inJSON([]string{secret}), base64.StdEncoding.EncodeToString([]byte("somebody:"+secret+"!")))
	for _, form := range append(forms, ordinary(secret)...) {
		a := artefacts{}
		a.add("x", []byte("before "+form+" after"))
		if len(a.find(map[string]string{"it": secret})) != 1 {
			t.Errorf("%s was not found", form)
		}
	}
	for seed := range uint64(200) {
		a := artefacts{}
		form := mixed(secret, seed, 1+int(seed%3))
		if a.add("x", []byte(form)); len(a.find(map[string]string{"it": secret})) != 1 {
			t.Errorf("%s was not found", form)
		}
	}
	if a := (artefacts{"x": []byte("nothing here")}); len(a.find(map[string]string{"it": secret})) != 0 {
		t.Error("found where there is nothing")
	}
}

// What is packed is found, too: as a record is stored, a kept answer, an export.
func TestCanarySearchUnpacks(t *testing.T) {
	secret := "K7<&/+" + strings.Repeat("0123456789abcdef", 20)
	text := []byte(`{"note":"` + secret + `"}`)
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write(text)
	_ = w.Close()
	frame := encoder.EncodeAll(text, nil)
	for name, packed := range map[string][]byte{
		"s2": s2.Encode(nil, text), "s2 with a checksum": append(s2.Encode(nil, text), 1, 2, 3, 4), "zstd": frame, "gzip": zipped.Bytes(),
		"zstd in parts with an index": append(append(append([]byte{}, frame...), encoder.EncodeAll([]byte("more"), nil)...), "index"...),
	} {
		a := artefacts{}
		a.add("x", packed)
		if len(a.find(map[string]string{"it": secret})) != 0 {
			t.Fatalf("%s does not pack", name)
		}
		if a.addUnpacked("x", packed); len(a.find(map[string]string{"it": secret})) != 1 {
			t.Errorf("%s is not unpacked", name)
		}
	}
}

// tables adds every column of every table. What is compressed is added as it was
// before, too.
func (a artefacts) tables(t *testing.T, database string) {
	t.Helper()
	db, err := check.Open(database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	names := "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	if strings.HasPrefix(database, "sqlite:") {
		names = "SELECT name FROM sqlite_master WHERE type = 'table'"
	}
	for _, table := range column(t, db, names) {
		a.table(t, db, table)
	}
}

func column(t *testing.T, db *sql.DB, query string) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		out = append(out, name)
	}
	return out
}

func (a artefacts) table(t *testing.T, db *sql.DB, table string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells := make([]sql.RawBytes, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, name := range columns {
			place := "table " + table + "." + name
			a.addUnpacked(place, cells[i])
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// folder adds all files, unpacked where they are packed.
func (a artefacts) folder(t *testing.T, what, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		a.add(what, []byte(path))
		a.addUnpacked(what, content)
		if strings.HasSuffix(path, ".zip") {
			return a.unzipped(what, content)
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

func (a artefacts) unzipped(what string, content []byte) error {
	bundle, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	for _, part := range bundle.File {
		text, err := fs.ReadFile(bundle, part.Name)
		if err != nil {
			return err
		}
		a.add(what+" "+part.Name, text)
	}
	return nil
}

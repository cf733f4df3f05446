package bodies

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/testkit/need"
)

// pythonWithZstd finds a Python that has the module for zstd, the system's first.
func pythonWithZstd() string {
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(name, "-c", "import zstandard").Run() == nil {
			return name
		}
	}
	return ""
}

// documentedPython returns a Python and the programs of docs/frames.md.
func documentedPython(t *testing.T) (python string, programs [][]byte) {
	t.Helper()
	if python = pythonWithZstd(); python == "" {
		need.Missing(t, "no Python with the module zstandard")
	}
	page, err := os.ReadFile("../../../../docs/frames.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("(?s)```python\n(.*?)```").FindAllSubmatch(page, -1) {
		programs = append(programs, found[1])
	}
	if len(programs) != 2 {
		t.Fatalf("docs/frames.md has %d programs", len(programs))
	}
	return python, programs
}

// The program of docs/frames.md reads what this one writes, packed or not.
func TestFramesAreReadByTheDocumentedPython(t *testing.T) {
	python, programs := documentedPython(t)
	script := filepath.Join(t.TempDir(), "frames.py")
	if err := os.WriteFile(script, programs[0], 0o600); err != nil {
		t.Fatal(err)
	}
	versions := []Version{
		{Key: Key{ID: 7 << Bits, Dataset: 3, Record: record.KeyOf("a"), Version: 1, Updated: NoInstant, Fetched: 1_700_000_000_000_000}, Item: []byte(`{"a":"ä"}`), Fields: []byte(`{}`)},
		{Key: Key{ID: 7<<Bits + 2, Dataset: 2, Record: record.KeyOf("b"), Version: 300, Prev: 5 << Bits, Updated: -7, Fetched: 1_600_000_000_000_000}, Item: []byte("second")},
		{Key: Key{ID: 9<<Bits + 1, Dataset: 2, Record: record.KeyOf("c"), Version: 2, Prev: 1 << Bits, Updated: 1_500_000_000_000_000, Fetched: NoInstant}},
	}
	large := append([]Version{}, versions...)
	large[1].Item = []byte(strings.Repeat("second ", 1000))
	frames := []Frame{}
	sets := [][]Version{versions, large, works(40)}
	for _, want := range sets {
		frames = append(frames, MakeFrame(want, PackContent(want, "")), MakeFrame(want, PackContent(want, ",\n")), formerFrame(want, formerWindow), smallFrame(plainFormat, want, ","),
			smallFrame(longFormat, want, ","))
	}
	for i, f := range frames {
		want := sets[i/5]
		file := filepath.Join(t.TempDir(), "frames.db")
		db, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("CREATE TABLE ing_body_frame (frame_id, codec, hash, entries, content)"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("INSERT INTO ing_body_frame VALUES (?,?,?,?,?)", f.ID, f.Codec, f.Hash, f.Table, f.Content); err != nil {
			t.Fatal(err)
		}
		db.Close()
		var trouble bytes.Buffer
		run := exec.Command(python, script, file)
		run.Stderr = &trouble
		out, err := run.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, trouble.String())
		}
		lines := json.NewDecoder(bytes.NewReader(out))
		for _, v := range want {
			var got struct {
				Body, Batch, Dataset, Version int64
				Key, Item, Fields             string
				Before, Updated, Fetched      *int64
			}
			if err := lines.Decode(&got); err != nil {
				t.Fatal(err)
			}
			same := got.Body == v.ID && got.Batch == v.ID>>Bits && got.Dataset == v.Dataset && got.Version == v.Version && got.Key == hex.EncodeToString(v.Record[:]) &&
				got.Item == string(v.Item) && got.Fields == string(v.Fields) &&
				isNumber(got.Before, v.Prev, 0) && isNumber(got.Updated, v.Updated, NoInstant) && isNumber(got.Fetched, v.Fetched, NoInstant)
			if !same {
				t.Errorf("%+v was read as %+v", v.Key, got)
			}
		}
		if lines.More() {
			t.Error("there is more")
		}
	}
}

func isNumber(got *int64, want, none int64) bool {
	if want == none {
		return got == nil
	}
	return got != nil && *got == want
}

// The function of docs/frames.md puts answers together that were kept without their items.
func TestAnswersAreJoinedByTheDocumentedPython(t *testing.T) {
	python, programs := documentedPython(t)
	functions, _, found := bytes.Cut(programs[0], []byte("\nfor row in sqlite3"))
	if !found {
		t.Fatal("the first program does not end with a loop over frames")
	}
	items := [][]byte{[]byte(`{"a":"ä"}`), []byte(`{"b":2}`), []byte(`{"c":3}`)}
	want, offsets := answerOf([][]byte{[]byte(`{"items":[`), []byte(","), []byte(","), []byte("]}\n")}, items)
	rest, ok := leaveOut(want, items, offsets)
	if !ok {
		t.Fatal("the items were not found in the answer")
	}
	call := "\nread = [bytes.fromhex(text) for text in sys.argv[1:]]\nsys.stdout.buffer.write(answer(read[0], read[1:]))\n"
	args := []string{"-c", string(functions) + "\n\n" + string(programs[1]) + call, hex.EncodeToString(rest)}
	for _, item := range items {
		args = append(args, hex.EncodeToString(item))
	}
	if got, err := exec.Command(python, args...).Output(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

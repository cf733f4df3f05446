package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
)

func TestCursorsSurviveAndDamagedOnesAreRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Cursor{
			Source: rapid.StringN(1, 20, 64).Draw(t, "source"), Endpoint: rapid.StringN(1, 20, 64).Draw(t, "endpoint"),
			Batch: rapid.Int64Min(0).Draw(t, "batch"), Body: rapid.Int64Min(0).Draw(t, "body"), FetchedAt: rapid.Int64().Draw(t, "at"),
		}
		text := c.String()
		if got, err := ParseCursor(" " + text + "\n"); err != nil || got != c {
			t.Fatalf("%+v became %+v: %v", c, got, err)
		}
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		for _, damaged := range []string{text[:at], text[:at] + string(text[at]^1) + text[at+1:]} {
			if _, err := ParseCursor(damaged); !errors.Is(err, fault.ErrInvalid) {
				t.Fatalf("%q was taken: %v", damaged, err)
			}
		}
	})
}

var stamp = time.Date(2025, 3, 1, 12, 0, 0, 123000, time.UTC)

func row(id string, fields string) *Row {
	return &Row{Body: 3<<20 | 1, Batch: 3, ID: []byte(id), Version: 2, UpdatedAt: stamp, FetchedAt: stamp, Fields: []byte(fields)}
}

func TestLinesOfJSON(t *testing.T) {
	gone := row("b\xff", "")
	gone.Gone, gone.MergedInto, gone.UpdatedAt = true, []byte("a"), time.Time{}
	sent := row("x", `{"a":1}`)
	sent.Payload = []byte("<xml>\n")
	some := row("s", `{"a":{"n":[1,2]}, "b" : "x", "c":null}`)
	for name, c := range map[string]struct {
		form Form
		row  *Row
		want string
	}{
		"all is copied": {Form{Format: JSONL}, row(`10.5555/"q"`, "{\"n\": 1.0,\r\n\"t\":\"ä\\n\"}"),
			`{"id":"10.5555/\"q\"","version":2,"state":"ACTIVE","updatedAt":"2025-03-01T12:00:00.000123Z","fetchedAt":"2025-03-01T12:00:00.000123Z","batchId":3,"fields":{"n": 1.0,"t":"ä\n"}}`},
		"a tombstone": {Form{Format: JSONL}, gone,
			`{"id":"b` + "\uFFFD" + `","idBase64":"Yv8=","version":2,"state":"GONE","gone":true,"mergedInto":"a","fetchedAt":"2025-03-01T12:00:00.000123Z","batchId":3}`},
		"a payload that is no JSON": {Form{Format: JSONL, Payload: true}, sent,
			`{"id":"x","version":2,"state":"ACTIVE","updatedAt":"2025-03-01T12:00:00.000123Z","fetchedAt":"2025-03-01T12:00:00.000123Z","batchId":3,"fields":{"a":1},"payload":"<xml>\n"}`},
		"a payload nobody wants": {Form{Format: JSONL}, sent,
			`{"id":"x","version":2,"state":"ACTIVE","updatedAt":"2025-03-01T12:00:00.000123Z","fetchedAt":"2025-03-01T12:00:00.000123Z","batchId":3,"fields":{"a":1}}`},
		"some fields": {Form{Format: JSONL, Fields: []string{"c", "a", "none"}}, some,
			`{"id":"s","version":2,"state":"ACTIVE","updatedAt":"2025-03-01T12:00:00.000123Z","fetchedAt":"2025-03-01T12:00:00.000123Z","batchId":3,"fields":{"a":{"n":[1,2]},"c":null}}`},
	} {
		l := NewLines(c.form)
		got, err := l.Append(l.Head(nil), c.row)
		if err != nil || string(got) != c.want+"\n" {
			t.Errorf("%s:\n%s%v\nwant\n%s", name, got, err, c.want)
		}
		if !json.Valid(got) {
			t.Errorf("%s: no JSON", name)
		}
	}
}

func TestLinesOfCSV(t *testing.T) {
	r := row("-1+1", `{"title":"=HYPERLINK(\"http://x\")","n":-5,"on":true,"no":null,"list":[1,"b"],"more":{"x":"y"}}`)
	for name, c := range map[string]struct {
		form Form
		want string
	}{
		"declared columns": {Form{Format: CSV, Columns: []string{"list", "n", "no", "on", "state", "title"}},
			"id,version,state,mergedInto,updatedAt,fetchedAt,batchId,list,n,no,on,fields.state,title,otherFields\r\n" +
				`"'-1+1",2,ACTIVE,,2025-03-01T12:00:00.000123Z,2025-03-01T12:00:00.000123Z,3,"[1,""b""]",-5,,true,,"'=HYPERLINK(""http://x"")","{""more"":{""x"":""y""}}"` + "\r\n"},
		"chosen fields, as they are": {Form{Format: CSV, Fields: []string{"title", "n"}, RawCells: true},
			"id,version,state,mergedInto,updatedAt,fetchedAt,batchId,title,n\r\n" +
				`-1+1,2,ACTIVE,,2025-03-01T12:00:00.000123Z,2025-03-01T12:00:00.000123Z,3,"=HYPERLINK(""http://x"")",-5` + "\r\n"},
	} {
		l := NewLines(c.form)
		got, err := l.Append(l.Head(nil), r)
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n%s%v\nwant\n%s", name, got, err, c.want)
		}
	}
	if _, err := NewLines(Form{Format: CSV}).Append(nil, row("a", "[1]")); err == nil {
		t.Error("fields that are no object were written")
	}
}

// What a reader of CSV gets is what was stored, and no cell is a formula unless it
// was asked for (A26).
func TestCellsComeBackAndAreNoFormulas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[=+\-@＝＋－＠\x{feff}\x{200b}\x{3000}\t\r\n," ']{1,3}[a-z",\n]*`)).Draw(t, "text")
		if strings.ContainsRune(text, '\r') { // readers make \r\n one line end
			text = strings.ReplaceAll(text, "\r", "\r.")
		}
		value, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range []bool{false, true} {
			l := NewLines(Form{Format: CSV, Fields: []string{"f"}, RawCells: raw})
			line, err := l.Append(nil, row("id", `{"f":`+string(value)+`}`))
			if err != nil {
				t.Fatal(err)
			}
			cells, err := csv.NewReader(bytes.NewReader(line)).Read()
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			got, want := cells[len(cells)-1], strings.ToValidUTF8(text, "\uFFFD")
			if bare := strings.TrimLeft(want, " \u3000\ufeff\u200b"); !raw && bare != "" && strings.ContainsRune("\t\r\n=+-@＝＋－＠", []rune(bare)[0]) && got[0] != '\'' {
				t.Fatalf("%q is a formula", got)
			}
			if !raw && isFormula([]byte(want)) {
				got = strings.TrimPrefix(got, "'")
			}
			if got != want {
				t.Fatalf("%q came back as %q", want, got)
			}
		}
	})
}

func TestNamesAreOurs(t *testing.T) {
	for _, cut := range []Cut{Whole, ByYear, ByMonth, ByDay} {
		for _, at := range []time.Time{{}, stamp, time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)} {
			for _, p := range []Packing{Plain, Gzip, Zstd} {
				if name := Name(cut.Part(at), CSV, p); !IsName(name) {
					t.Errorf("%q is no name", name)
				}
			}
		}
	}
	for _, name := range []string{"", "../records.jsonl", "/records.jsonl", "records-../../x.jsonl", "CON", "records.jsonl\n", "records-2025-03.jsonl.exe", "manifest.json",
		"records-" + strings.Repeat("9", 4096) + ".jsonl", `..\records.jsonl`, "records-2025/03.jsonl"} {
		if IsName(name) {
			t.Errorf("%.40q is a name", name)
		}
	}
}

func TestOrdersAreChecked(t *testing.T) {
	good := Order{Source: "s", Endpoint: "e", Form: Form{Format: JSONL}, States: Active}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Order){
		"format": func(o *Order) { o.Form.Format = "parquet" }, "state": func(o *Order) { o.States = "dead" }, "cut": func(o *Order) { o.Cut = "hour" },
		"packing": func(o *Order) { o.Packing = "rar" }, "twice": func(o *Order) { o.Form.Fields = []string{"a", "a"} },
		"cursor": func(o *Order) { o.Since = &Cursor{Source: "s", Endpoint: "other"} }, "file": func(o *Order) { o.File, o.Cut = "x.jsonl", ByDay },
	} {
		o := good
		change(&o)
		if err := o.Check(); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestManifestsAddUp(t *testing.T) {
	m := NewManifest(Order{Source: "s", Endpoint: "e", Form: Form{Format: CSV, Columns: []string{"a"}}, States: All, Since: &Cursor{Source: "s", Endpoint: "e"}})
	var f File
	f.Name = "records.csv"
	f.Add(row("a", ""))
	gone := row("b", "")
	gone.Gone, gone.UpdatedAt = true, stamp.Add(time.Hour)
	f.Add(gone)
	f.Bytes = 7
	m.Files, m.Records, m.Gone, m.Bytes = []File{f}, 2, 1, 7
	m.Cursor = Mark{Batch: 4}.Cursor("s", "e").String()
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseManifest(text)
	if err != nil || got.Files[0] != f || !f.First.Equal(stamp) || !f.Last.Equal(stamp.Add(time.Hour)) {
		t.Errorf("%+v: %v", got, err)
	}
	for name, text := range map[string]string{
		"no JSON": "{", "another kind": `{"kind":"x"}`, "sums": strings.Replace(string(text), `"records": 2,`, `"records": 3,`, 1),
		"cursor": strings.Replace(string(text), m.Cursor, "px1-x", 1), "since": strings.Replace(string(text), m.Since, "yesterday", 1),
	} {
		if _, err := ParseManifest([]byte(text)); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

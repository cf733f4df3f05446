package export

import (
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

var someValues = []string{`null`, `true`, `false`, `0`, `-7`, `9007199254740993`, `12345678901234567890`, `1.5`, `-2e3`, `1e999`, `"x"`, `"12"`, `""`, `[1]`, `{"a":1}`}

// A column fits whatever came, in whatever order: joining is a law, not a habit.
func TestKindsJoin(t *testing.T) {
	kinds := []Kind{NoKind, Boolean, Integer, Long, Real, Text, JSON}
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(kinds)
		a, b, c := k.Draw(t, "a"), k.Draw(t, "b"), k.Draw(t, "c")
		if a.Join(b) != b.Join(a) || a.Join(a) != a || a.Join(b).Join(a) != a.Join(b) {
			t.Fatalf("%s and %s", a, b)
		}
		if got, want := a.Join(b).Join(c), a.Join(b.Join(c)); got != want {
			t.Fatalf("%s, %s, %s: %s or %s", a, b, c, got, want)
		}
	})
}

// No two values that differ are one in a column, and a null is no value.
func TestCellsTellValuesApart(t *testing.T) {
	for _, a := range someValues {
		for _, b := range someValues {
			kind := KindOf([]byte(a)).Join(KindOf([]byte(b)))
			x, err := CellValue(kind, []byte(a))
			y, wrong := CellValue(kind, []byte(b))
			if err != nil || wrong != nil {
				t.Fatalf("%s and %s in %s: %v, %v", a, b, kind, err, wrong)
			}
			if (a == b) != (x == y) {
				t.Errorf("%s and %s in %s: %v and %v", a, b, kind, x, y)
			}
			if (x == nil) != (a == "null") {
				t.Errorf("%s in %s: %v", a, kind, x)
			}
			if text, ok := x.(string); ok && kind == JSON && !json.Valid([]byte(text)) {
				t.Errorf("%s in %s is %s: no JSON", a, kind, text)
			}
		}
	}
	for value, want := range map[string]any{`true`: int64(1), `12`: int64(12), `1.5`: 1.5, `"a\u0062"`: "ab", `[1, 2]`: "[1, 2]", `12345678901234567890`: "12345678901234567890"} {
		if got, err := CellValue(KindOf([]byte(value)), []byte(value)); got != want || err != nil {
			t.Errorf("%s became %v, %v", value, fmt.Sprintf("%T %v", got, got), err)
		}
	}
}

func TestRecordsOfATable(t *testing.T) {
	row := Row{ID: []byte("a"), Fields: []byte(`{"a":1,"b":[2]}`), Payload: []byte(`{}`)}
	r, err := Form{}.NewRecord(&row)
	if err != nil || len(r.Cells) != 2 || r.Payload != nil {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = Form{Fields: []string{"b"}, Payload: true}.NewRecord(&row)
	if err != nil || len(r.Cells) != 1 || r.Cells[0].Field != "b" || string(r.Payload) != "{}" {
		t.Errorf("%+v, %v", r, err)
	}
	row.Fields[5] = '9' // the bytes of a row are valid only while it is handed over
	if string(r.Cells[0].Value) != "[2]" {
		t.Errorf("%s", r.Cells[0].Value)
	}
	row.Fields = []byte("[")
	if _, err := (Form{}).NewRecord(&row); err == nil {
		t.Error("fields that are damaged")
	}
}

func TestOrdersOfTables(t *testing.T) {
	base := Order{Source: "s", Endpoint: "e", Form: Form{Format: SQLite}, States: Active}
	since := &Cursor{Source: "s", Endpoint: "e", Batch: 1}
	for name, change := range map[string]func(*Order){
		"parts":                               func(o *Order) { o.Cut = ByDay },
		"packed":                              func(o *Order) { o.Packing = Gzip },
		"raw cells":                           func(o *Order) { o.Form.RawCells = true },
		"gone ones":                           func(o *Order) { o.States = All },
		"changes without those that are gone": func(o *Order) { o.Since = since },
	} {
		o := base
		change(&o)
		if o.Check() == nil {
			t.Errorf("%s: taken", name)
		}
	}
	o := base
	o.Since, o.States = since, All
	if err := o.Check(); err != nil {
		t.Error(err)
	}
}

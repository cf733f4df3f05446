package document

import "testing"

func TestValue(t *testing.T) {
	type reading struct {
		kind   Kind
		text   string
		textOK bool
		n      int64
		intOK  bool
		b      bool
		boolOK bool
	}
	for raw, want := range map[string]reading{
		`null`:                     {kind: Null},
		`true`:                     {kind: Bool, text: "true", textOK: true, b: true, boolOK: true},
		`false`:                    {kind: Bool, text: "false", textOK: true, boolOK: true},
		`"a\/b\u00e9\ud83d\ude00"`: {kind: String, text: "a/bé😀", textOK: true},
		`"true"`:                   {kind: String, text: "true", textOK: true},
		`""`:                       {kind: String, textOK: true},
		`"12"`:                     {kind: String, text: "12", textOK: true, n: 12, intOK: true},
		`"12.0"`:                   {kind: String, text: "12.0", textOK: true},
		"\"\xff\"":                 {kind: String, text: "\xff"},
		"\"\\n\xff\"":              {kind: String, text: "\n\uFFFD"},
		`"\ud800"`:                 {kind: String, text: "\uFFFD"},
		`0`:                        {kind: Number, text: "0", textOK: true, intOK: true},
		`-0`:                       {kind: Number, text: "-0", textOK: true, intOK: true},
		`9007199254740993`:         {kind: Number, text: "9007199254740993", textOK: true, n: 9007199254740993, intOK: true},
		`-9223372036854775808`:     {kind: Number, text: "-9223372036854775808", textOK: true, n: -1 << 63, intOK: true},
		`9223372036854775808`:      {kind: Number, text: "9223372036854775808", textOK: true},
		`12.00`:                    {kind: Number, text: "12.00", textOK: true, n: 12, intOK: true},
		`12.50`:                    {kind: Number, text: "12.50", textOK: true},
		`1.0e2`:                    {kind: Number, text: "1.0e2", textOK: true},
		`[1]`:                      {kind: Array},
		`{}`:                       {kind: Object},
	} {
		v := Value{raw: []byte(raw)}
		var got reading
		got.kind = v.Kind()
		got.text, got.textOK = v.Text()
		if got.n, got.intOK = v.Int(); !got.intOK {
			got.n = 0
		}
		got.b, got.boolOK = v.Bool()
		if got != want {
			t.Errorf("%s: got %+v, want %+v", raw, got, want)
		}
		if !v.Present() || v.IsNull() != (want.kind == Null) || string(v.Raw()) != raw || len(v.All()) != 1 {
			t.Errorf("%s: presence wrong", raw)
		}
	}
}

func TestAbsentValue(t *testing.T) {
	var v Value
	_, text := v.Text()
	_, n := v.Int()
	_, b := v.Bool()
	if v.Present() || v.IsNull() || v.Kind() != Absent || v.Raw() != nil || v.All() != nil || text || n || b {
		t.Error("an absent value shows something")
	}
	if v.Kind().String() != "absent" || Object.String() != "object" {
		t.Error("kind names")
	}
}

func TestPickedValue(t *testing.T) {
	body := []byte(`{"b":{"n":9007199254740993},"a":{"n":"x\/y"},"c":{"n":true,"m":{"z":[null,false],"y":"\""}},"d":{}}`)
	paths := []string{"$.*.n", "$[?@.n=='x/y'].n", "$[?@.n==true].n", "$[?@.n==9007199254740993].n", "$.*.m", "$.*.none"}
	reader := mustCompile(t, "", paths, nil)
	for range 20 { // the library's order is random
		page, err := reader.Read(body, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		want := `["x/y",9007199254740993,true] ["x/y"] [true] [9007199254740993] [{"y":"\"","z":[null,false]}] -`
		if got := show(page.Values); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		v := page.Values
		if _, ok := v[0].Text(); ok || v[0].Kind() != Array || len(v[0].All()) != 3 {
			t.Error("three nodes read as one")
		}
		text, _ := v[1].Text()
		yes, _ := v[2].Bool()
		n, _ := v[3].Int()
		if text != "x/y" || !yes || n != 9007199254740993 {
			t.Errorf("single nodes: %q %v %d", text, yes, n)
		}
		if id, _ := v[0].All()[1].Text(); id != "9007199254740993" {
			t.Errorf("node text %q", id)
		}
	}
}

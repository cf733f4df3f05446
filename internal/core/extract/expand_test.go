package extract_test

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/record"
)

type route struct {
	N    *int   `json:"n,omitempty"`
	Kind string `json:"kind,omitempty"`
}

type menu struct {
	Routes []*route `json:"routes"`
}

type ivr struct {
	ID    string  `json:"id,omitempty"`
	Menus *[]menu `json:"menus,omitempty"`
}

func drawRoute(t *rapid.T) *route {
	if rapid.IntRange(0, 9).Draw(t, "null") == 0 {
		return nil
	}
	r := &route{Kind: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "kind")}
	if rapid.IntRange(0, 5).Draw(t, "named") > 0 {
		n := rapid.IntRange(0, 3).Draw(t, "n")
		r.N = &n
	}
	return r
}

func drawItem(t *rapid.T) ivr {
	i := ivr{ID: rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "id")}
	if rapid.IntRange(0, 5).Draw(t, "without") > 0 {
		menus := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) menu {
			return menu{rapid.SliceOfN(rapid.Custom(drawRoute), 0, 4).Draw(t, "routes")}
		}), 0, 3).Draw(t, "menus")
		i.Menus = &menus
	}
	return i
}

// Every part of every item is a record, a duplicate, a reject or left out, and every item is accounted for;
// paging counts the items of the upstream. The model reads the answer with encoding/json and knows
// nothing of the reader.
func TestExpandAccountsForEveryPart(t *testing.T) {
	c := extract.Config{
		Items: pathTo(t, "$.items"), ID: selectorOf(t, "${carried('ivr')}/${jsonPath('$.n')}"), Where: extract.Predicate{Selector: selectorOf(t, "${jsonPath('$.kind') != 'x'}")},
		Expand: &extract.Expand{Path: pathTo(t, "$.menus[*].routes[*]"), Carry: map[string]extract.Selector{"ivr": selectorOf(t, "$.id")}},
		Fields: map[string]extract.Selector{"ivr": selectorOf(t, "${carried('ivr')}"), "kind": selectorOf(t, "$.kind")},
	}
	reader, err := extract.Compile(c.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	optional := *c.Expand
	optional.Optional = true
	c.Expand = &optional
	lenient, err := extract.Compile(c.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(drawItem), 0, 6).Draw(t, "items")
		body, err := json.MarshalIndent(map[string]any{"items": append([]ivr{}, items...)}, "", rapid.SampledFrom([]string{"", " "}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "odd") { // a name beyond ASCII is read by the other decoder
			body = []byte(strings.Replace(string(body), `{`, `{"größe":1,`, 1))
		}
		var model struct{ Items []ivr }
		if err := json.Unmarshal(body, &model); err != nil {
			t.Fatal(err)
		}
		for _, reading := range []struct {
			*extract.Reader
			optional bool
		}{{reader, false}, {lenient, true}} {
			page, err := reading.Read(body, extract.Asked{})
			if err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			want, seen, excluded, rejected, duplicate := expandPlainly(model.Items, reading.optional)
			got := map[string]string{}
			for _, in := range page.Records {
				got[in.ProviderID] = string(in.Fields)
				if !strings.HasPrefix(string(body[in.Offset:]), string(in.Payload)) {
					t.Fatalf("%s does not stand at %d of %s", in.Payload, in.Offset, body)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || page.Seen != seen || page.Excluded != excluded || len(page.Rejects) != rejected || page.Duplicate != duplicate {
				t.Fatalf("%s:\n%v, %d seen, %d left out, %d rejected, %d twice; want\n%v, %d, %d, %d, %d", body, got, page.Seen, page.Excluded, len(page.Rejects), page.Duplicate, want, seen, excluded, rejected, duplicate)
			}
			if page.Says.Items != len(items) || len(page.Places) != len(items) || page.Seen != len(page.Records)+page.Duplicate+len(page.Rejects)+page.Outside+page.Excluded {
				t.Fatalf("%s: %+v", body, page)
			}
			again, err := reading.Read(body, extract.Asked{})
			if err != nil || fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", page) {
				t.Fatalf("read again, %s is another page: %v", body, err)
			}
		}
	})
}

// expandPlainly is what expanding means.
func expandPlainly(items []ivr, optional bool) (records map[string]string, seen, excluded, rejected, duplicate int) {
	records = map[string]string{}
	for _, i := range items {
		if i.Menus == nil {
			if seen++; optional {
				excluded++
			} else {
				rejected++
			}
			continue
		}
		none := true
		for _, m := range *i.Menus {
			for _, r := range m.Routes {
				none = false
				seen++
				switch {
				case r != nil && r.Kind == "x":
					excluded++
					continue
				case r == nil, i.ID == "", r.N == nil:
					rejected++
					continue
				}
				id, fields := fmt.Sprintf("%s/%d", i.ID, *r.N), fmt.Sprintf(`{"ivr":%q}`, i.ID)
				if r.Kind != "" {
					fields = fmt.Sprintf(`{"ivr":%q,"kind":%q}`, i.ID, r.Kind)
				}
				switch before, known := records[id]; {
				case !known:
					records[id] = fields
				case before == fields:
					duplicate++
				default:
					rejected++
				}
			}
		}
		if none {
			seen++
			excluded++
		}
	}
	return records, seen, excluded, rejected, duplicate
}

// What a record carries is part of what it holds, and names are told from one another by it.
func TestCarriedIsContent(t *testing.T) {
	c := extract.Config{
		Items: pathTo(t, "$"), ID: selectorOf(t, "${hash()}"), Replaces: "NOTHING",
		Expand: &extract.Expand{Path: pathTo(t, "$.r[*]"), Carry: map[string]extract.Selector{"p": selectorOf(t, "$.id"), "list": selectorOf(t, "$.tags")}},
	}
	page := readWith(t, c, `[{"id":1,"r":[{"n":1}]},{"id":2,"r":[{"n":1}]},{"id":1,"r":[{"n":1}]}]`, extract.Asked{})
	if len(page.Records) != 2 || page.Duplicate != 1 || page.Records[0].ContentHash == page.Records[1].ContentHash {
		t.Errorf("%+v", page)
	}
}

// The id of a part that is unique within its item only makes many records one: that is refused.
func TestIDsOfPartsMustNotRepeat(t *testing.T) {
	c := extract.Config{Items: pathTo(t, "$"), ID: selectorOf(t, "$.n"), Expand: &extract.Expand{Path: pathTo(t, "$.r[*]")}}
	page := readWith(t, c, `[{"id":1,"r":[{"n":1,"t":"a"}]},{"id":2,"r":[{"n":1,"t":"b"},{"n":1,"t":"a"}]}]`, extract.Asked{})
	if len(page.Records) != 1 || len(page.Rejects) != 1 || page.Duplicate != 1 || page.Rejects[0].Reason != record.RepeatedID || page.Rejects[0].ProviderID != "1" || string(page.Rejects[0].Raw) != `{"n":1,"t":"b"}` {
		t.Errorf("%+v", page)
	}
	// So is the name of a member of several objects.
	keyed := extract.Config{Items: pathTo(t, "$.*.*"), ID: selectorOf(t, "${key}")}
	if page := readWith(t, keyed, `{"a":{"1":{"t":"a"}},"b":{"1":{"t":"b"}}}`, extract.Asked{}); len(page.Records) != 1 || len(page.Rejects) != 1 || page.Rejects[0].Reason != record.RepeatedID {
		t.Errorf("%+v", page)
	}
}

// Parts may be members: the name of each is its key, and that of the item can be carried.
func TestPartsHaveKeys(t *testing.T) {
	c := extract.Config{
		Items: pathTo(t, "$.*"), ID: selectorOf(t, "${carried('of')}.${key}"),
		Expand: &extract.Expand{Path: pathTo(t, "$.parts.*"), Carry: map[string]extract.Selector{"of": selectorOf(t, "${key}")}},
	}
	page := readWith(t, c, `{"a":{"parts":{"x":1,"y":"text"}},"b":{"parts":{"x":null}},"c":{"parts":null}}`, extract.Asked{})
	var ids []string
	for _, in := range page.Records {
		ids = append(ids, in.ProviderID)
	}
	if sort.Strings(ids); strings.Join(ids, " ") != "a.x a.y" || len(page.Rejects) != 1 || page.Excluded != 1 || page.Seen != 4 {
		t.Errorf("%v %+v", ids, page)
	}
}

// Elements of XML are taken apart as lists, also where there is only one.
func TestExpandReadsXML(t *testing.T) {
	c := extract.Config{
		Format: document.FormatXML, Items: pathTo(t, "$.set.journal"), ID: selectorOf(t, `${carried('issn')}-${jsonPath("$['@no']")}`),
		Expand: &extract.Expand{Path: pathTo(t, "$.volumes.volume[*]"), Carry: map[string]extract.Selector{"issn": selectorOf(t, "$.issn")}},
		Fields: map[string]extract.Selector{"years": selectorOf(t, "$.year[*]")},
	}
	page := readWith(t, c, `<set><journal><issn>1</issn><volumes><volume no="1"><year>2001</year></volume></volumes></journal>`+
		`<journal><issn>2</issn><volumes><volume no="1"><year>2002</year><year>2003</year></volume><volume no="2"/></volumes></journal></set>`, extract.Asked{})
	var got []string
	for _, in := range page.Records {
		got = append(got, in.ProviderID+string(in.Fields))
	}
	if want := `1-1{"years":["2001"]} 2-1{"years":["2002","2003"]} 2-2{}`; strings.Join(got, " ") != want || page.Seen != 3 || page.Says.Items != 2 {
		t.Errorf("%q %+v", got, page)
	}
}

// A row is an object of its columns. The model makes one of it with encoding/json.
func TestRowsAreObjects(t *testing.T) {
	c := extract.Config{
		Items: pathTo(t, "$[1:]"), Table: &extract.Table{Names: pathTo(t, "$[0]")}, ID: selectorOf(t, "$.id"),
		Fields: map[string]extract.Selector{"a": selectorOf(t, "$.a"), "all": selectorOf(t, "$")},
	}
	reader, err := extract.Compile(c.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		names := append([]string{"id"}, rapid.SliceOfN(rapid.SampledFrom([]string{"id", "a", "b", "größe", "x y"}), 0, 3).Draw(t, "names")...)
		value := rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.IntRange(0, 5), func(n int) any { return n }), rapid.Map(rapid.StringN(0, 3, -1), func(s string) any { return s }), rapid.Just[any](map[string]any{"n": 1}), rapid.Just[any]([]any{1, "x"}))
		rows := rapid.SliceOfN(rapid.SliceOfN(value, 0, 5), 0, 6).Draw(t, "rows")
		list := []any{names}
		for _, row := range rows {
			list = append(list, append([]any{}, row...))
		}
		body, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		twice := false
		for i, name := range names {
			twice = twice || strings.Contains("\x00"+strings.Join(names[:i], "\x00")+"\x00", "\x00"+name+"\x00")
		}
		page, err := reader.Read(body, extract.Asked{})
		if twice && len(rows) > 0 {
			if err == nil || !strings.Contains(err.Error(), "two columns are named") {
				t.Fatalf("%s: %v", body, err)
			}
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if page.Seen != len(rows) || page.Says.Items != len(rows) || len(page.Records)+page.Duplicate+len(page.Rejects) != len(rows) {
			t.Fatalf("%s: %+v", body, page)
		}
		rejected := 0
		wanted := map[string]bool{}
		for _, row := range rows {
			object := map[string]any{}
			for i := range min(len(row), len(names)) {
				object[names[i]] = row[i]
			}
			id, isText := object["id"].(string)
			if n, isNumber := object["id"].(int); isNumber {
				id, isText = fmt.Sprint(n), true
			}
			if len(row) != len(names) || !isText || id == "" {
				rejected++
				continue
			}
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			wanted[string(text)] = true
		}
		if rejected != len(page.Rejects) {
			t.Fatalf("%s: %d rejected, want %d", body, len(page.Rejects), rejected)
		}
		for _, in := range page.Records {
			var fields struct {
				All map[string]any `json:"all"`
			}
			if err := json.Unmarshal(in.Fields, &fields); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(fields.All)
			if err != nil || !wanted[string(text)] {
				t.Fatalf("%s: %s is none of %v", body, text, wanted)
			}
			if !strings.HasPrefix(string(body[in.Offset:]), string(in.Payload)) {
				t.Fatalf("%s does not stand at %d", in.Payload, in.Offset)
			}
		}
	})
}

// Names that are none make no table; a row that does not fit is a reject with its reason.
func TestTablesThatAreNone(t *testing.T) {
	c := extract.Config{Items: pathTo(t, "$.rows"), Table: &extract.Table{Names: pathTo(t, "$.columns[*].name")}, ID: selectorOf(t, "$.id")}
	page := readWith(t, c, `{"columns":[{"name":"id"},{"name":"n"}],"rows":[["a",1],["b"],["c",1,2],{"id":"d"},null]}`, extract.Asked{})
	if len(page.Records) != 1 || len(page.Rejects) != 4 || page.Rejects[0].Reason != record.BadItem || page.Rejects[0].Detail != "the row has 1 values, and the table 2 columns" {
		t.Errorf("%+v", page)
	}
	reader, err := extract.Compile(c.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"rows":[["a"]]}`:                                               "no names of columns",
		`{"columns":[{"name":1}],"rows":[["a"]]}`:                        "is no name of a column",
		`{"columns":[{"name":"id"},{"name":"id"}],"rows":[["a"],["b"]]}`: "two columns",
	} {
		if _, err := reader.Read([]byte(body), extract.Asked{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	if page, err := reader.Read([]byte(`{"rows":[]}`), extract.Asked{}); err != nil || page.Seen != 0 {
		t.Errorf("without rows there is nothing to name: %v", err)
	}
}

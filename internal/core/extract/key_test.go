package extract_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/record"
)

// Every member of an object is a record under its name, in the order of the answer, with the bytes
// that came; whatever the names look like. The plain decoder of encoding/json is the model.
func TestMembersAreRecordsUnderTheirNames(t *testing.T) {
	c := extract.Config{
		Items: pathTo(t, "$.entities.*"), ID: selectorOf(t, "${key}"),
		Fields: map[string]extract.Selector{"name": selectorOf(t, "${key}"), "n": selectorOf(t, "$.n")},
	}
	reader, err := extract.Compile(c.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.OneOf(rapid.StringMatching(`[A-Z][0-9]{1,6}`), rapid.StringN(1, 8, -1)), 0, 12, rapid.ID[string]).Draw(t, "names")
		var members, plain []string
		for i, name := range names {
			quoted, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			members = append(members, fmt.Sprintf(`%s:%s{"n":%d}`, quoted, rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, "blank"), i))
			if err := json.Unmarshal(quoted, &name); err != nil { // as it comes back
				t.Fatal(err)
			}
			plain = append(plain, name)
		}
		body := `{"entities":{` + strings.Join(members, ",") + `},"more":1}`
		page, err := reader.Read([]byte(body), extract.Asked{})
		if len(slices.Compact(slices.Sorted(slices.Values(plain)))) < len(plain) {
			return // two names that JSON writes alike
		}
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		var model struct{ Entities map[string]json.RawMessage }
		if err := json.Unmarshal([]byte(body), &model); err != nil {
			t.Fatal(err)
		}
		if page.Seen != len(names) || page.Says.Items != len(names) || len(page.Records) != len(model.Entities) || len(page.Rejects) != 0 {
			t.Fatalf("%s: %+v", body, page)
		}
		for i, in := range page.Records {
			fields, err := json.Marshal(map[string]any{"n": i, "name": plain[i]})
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if json.Unmarshal(in.Fields, &got) != nil || json.Unmarshal(fields, &want) != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: fields %s, want %s", body, in.Fields, fields)
			}
			if in.ProviderID != plain[i] || string(in.Payload) != string(model.Entities[plain[i]]) || !strings.HasPrefix(body[in.Offset:], string(in.Payload)) {
				t.Fatalf("%s: record %d is %q %s", body, i, in.ProviderID, in.Payload)
			}
		}
	})
}

// A name that records are made of is part of what they hold: under another name it is another content.
func TestKeyIsContent(t *testing.T) {
	c := extract.Config{Items: pathTo(t, "$.*"), ID: selectorOf(t, "$.id"), Fields: map[string]extract.Selector{"group": selectorOf(t, "${key}")}}
	one, two := readWith(t, c, `{"a":{"id":"x"}}`, extract.Asked{}), readWith(t, c, `{"b":{"id":"x"}}`, extract.Asked{})
	if one.Records[0].ContentHash == two.Records[0].ContentHash {
		t.Error("the group changed and nobody would notice")
	}
	reader, err := extract.Compile(c.WithDefaults())
	if err != nil || reader.StandsAlone() {
		t.Errorf("a member without its name is not whole: %v", err)
	}
	if hasher, err := extract.NewHasher(c); hasher != nil || err != nil {
		t.Errorf("the bytes of the item alone do not give its hash: %v %v", hasher, err)
	}
	// Who reads no name gets the hash of the item alone, as before.
	delete(c.Fields, "group")
	c.Fields["id"] = selectorOf(t, "$.id")
	one, two = readWith(t, c, `{"a":{"id":"x"}}`, extract.Asked{}), readWith(t, c, `{"b":{"id":"x"}}`, extract.Asked{})
	if one.Records[0].ContentHash != two.Records[0].ContentHash {
		t.Error("a name that nobody reads is no content")
	}
}

// An element of a list has no name: it is rejected, and does not share the id of others.
func TestElementsHaveNoKey(t *testing.T) {
	c := extract.Config{Items: pathTo(t, "$.entities.*"), ID: selectorOf(t, "e-${key}")}
	page := readWith(t, c, `{"entities":[{"n":1},{"n":2}]}`, extract.Asked{})
	if len(page.Records) != 0 || len(page.Rejects) != 2 || page.Rejects[0].Reason != record.MissingID || !strings.Contains(page.Rejects[0].Detail, "no member") {
		t.Errorf("%+v", page)
	}
	for _, body := range []string{`{"entities":{}}`, `{"entities":[]}`} {
		if page := readWith(t, c, body, extract.Asked{}); page.Seen != 0 {
			t.Errorf("%s: %+v", body, page)
		}
	}
}

// Names are read of members only.
func TestKeyNeedsMembers(t *testing.T) {
	for _, c := range []extract.Config{
		{Items: pathTo(t, "$.entities"), ID: selectorOf(t, "${key}")},
		{Items: pathTo(t, "$.entities[0]"), ID: selectorOf(t, "${key}"), Single: true},
		{Items: pathTo(t, "$..*"), ID: selectorOf(t, "${key}")},
		{Items: pathTo(t, "$.list.entity"), ID: selectorOf(t, "${key}"), Format: document.FormatXML},
		{Items: pathTo(t, "$.entities.*"), ID: selectorOf(t, "$.id"), NextToken: selectorOf(t, "${key}")},
	} {
		if _, err := extract.Compile(c.WithDefaults()); err == nil || !strings.Contains(err.Error(), "${key}") {
			t.Errorf("%s: %v", c.Items, err)
		}
	}
	for _, items := range []string{"$.*", "$.a.*", "$.a[?@.n > 1]", "$.a.*.*"} {
		if _, err := extract.Compile(extract.Config{Items: pathTo(t, items), ID: selectorOf(t, "${key}")}.WithDefaults()); err != nil {
			t.Errorf("%s: %v", items, err)
		}
	}
}

package extract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
)

// path panics on a typo in a test.
func path(text string) document.Path {
	p, err := document.ParsePath(text)
	if err != nil {
		panic(err)
	}
	return p
}

// sel is a selector, pred a predicate; both panic on a typo in a test.
func sel(text string) Selector {
	s, err := ParseSelector(text)
	if err != nil {
		panic(err)
	}
	return s
}

func pred(texts ...string) []Predicate {
	var out []Predicate
	for _, text := range texts {
		out = append(out, Predicate{sel(text)})
	}
	return out
}

// shelf is an endpoint whose pages look like {"data":[{"id":…,"at":…}],"total":…,"next":…,"more":…}.
func shelf(change ...func(*Config)) Config {
	c := Config{
		Items: path("$.data"), ID: sel("$.id"), UpdatedAt: sel("$.at"), Filtered: sel("$.at"), Version: sel("$.v"),
		Total: sel("$.total"), NextToken: sel("$.next"), HasMore: sel("$.more"), MustHave: []document.Path{path("$.ok")},
		Volatile: []document.Path{path("$.score"), path("$.seen.at")},
		Fields:   map[string]Selector{"title": sel("$.title"), "names": sel("$.authors[*].name")},
	}
	for _, apply := range change {
		apply(&c)
	}
	return c.WithDefaults()
}

func compiled(t *testing.T, change ...func(*Config)) *Reader {
	t.Helper()
	r, err := Compile(shelf(change...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var (
	march = window.Window{From: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC)}
	asked = Asked{Window: march, Drop: true, FetchAt: time.Date(2025, 4, 2, 3, 4, 5, 0, time.UTC), MappingID: 7}
)

// bodyOf is a good page around the texts of its items.
func bodyOf(items ...string) []byte {
	return []byte(`{"ok":true,"data":[` + strings.Join(items, ",") + `],"total":12,"next":"n1"}`)
}

func read(t *testing.T, r *Reader, body []byte) *Page {
	t.Helper()
	page, err := r.Read(body, asked)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// I4: whatever a page holds, every item is in exactly one account.
func TestEveryItemIsAccountedFor(t *testing.T) {
	r := compiled(t)
	rapid.Check(t, func(t *rapid.T) {
		var items []string
		ids := map[string]bool{}
		var good, bad, outside, duplicate int
		for i := range rapid.IntRange(0, 30).Draw(t, "items") {
			switch rapid.SampledFrom([]string{"good", "bad", "outside", "duplicate"}).Draw(t, "kind") {
			case "good":
				id := fmt.Sprintf("g%d", rapid.IntRange(0, 8).Draw(t, "id"))
				if ids[id] {
					duplicate++
				} else {
					good++
				}
				ids[id] = true
				items = append(items, fmt.Sprintf(`{"id":%q,"at":"2025-03-%02d"}`, id, rapid.IntRange(1, 31).Draw(t, "day")))
			case "bad":
				bad++
				items = append(items, rapid.SampledFrom([]string{
					`{}`, `null`, `7`, `"text"`, `[]`, `{"id":null,"at":"2025-03-01"}`, `{"id":"x"}`, `{"id":"x","at":"soon"}`, `{"id":"x","id":"y","at":"2025-03-01"}`,
					`{"id":{"a":1},"at":"2025-03-01"}`, `{"id":"","at":"2025-03-01"}`, "{\"id\":\"\xff\",\"at\":\"2025-03-01\"}", `{"id":"x","at":"0000-01-01"}`,
				}).Draw(t, "bad"))
			case "outside":
				outside++
				items = append(items, fmt.Sprintf(`{"id":"o%d","at":"2025-04-01"}`, i))
			case "duplicate":
				if len(ids) == 0 {
					continue
				}
				duplicate++
				for id := range ids {
					items = append(items, fmt.Sprintf(`{"id":%q,"at":"2025-03-05"}`, id))
					break
				}
			}
		}
		page, err := r.Read(bodyOf(items...), asked)
		if err != nil {
			t.Fatalf("%v in %q", err, items)
		}
		if page.Seen != len(items) || page.Seen != len(page.Records)+len(page.Rejects)+page.Outside+page.Duplicate {
			t.Fatalf("%d items: %d records + %d rejects + %d outside + %d duplicate", page.Seen, len(page.Records), len(page.Rejects), page.Outside, page.Duplicate)
		}
		if len(page.Records) != good || len(page.Rejects) != bad || page.Outside != outside || page.Duplicate != duplicate {
			t.Fatalf("got %d/%d/%d/%d, want %d/%d/%d/%d for %q", len(page.Records), len(page.Rejects), page.Outside, page.Duplicate, good, bad, outside, duplicate, items)
		}
		if len(page.Keys) != len(items) || page.Says.Items != len(items) {
			t.Fatalf("%d keys, paging sees %d, for %d items", len(page.Keys), page.Says.Items, len(items))
		}
		for _, reject := range page.Rejects {
			if string(reject.Raw) != items[reject.Index] {
				t.Fatalf("reject %d keeps %q, the item was %q", reject.Index, reject.Raw, items[reject.Index])
			}
		}
	})
}

func TestRecordCarriesWhatWasAsked(t *testing.T) {
	item := `{"id":"a","at":"2025-03-05T10:11:12Z","v":4,"title":"On <b>copies</b>","authors":[{"name":"Ada"},{"name":"Bo"}]}`
	page := read(t, compiled(t), bodyOf(item, `{"id":"b","at":"2025-03-04","title":null}`))
	got := page.Records[0]
	if got.ProviderID != "a" || !got.UpdatedAt.Equal(time.Date(2025, 3, 5, 10, 11, 12, 0, time.UTC)) || got.SourceVersion != 4 ||
		!got.FetchAt.Equal(asked.FetchAt) || got.MappingID != 7 || string(got.Payload) != item {
		t.Errorf("record %+v", got)
	}
	if want := `{"names":["Ada","Bo"],"title":"On <b>copies</b>"}`; string(got.Fields) != want {
		t.Errorf("fields %s, want %s", got.Fields, want)
	}
	if fields := string(page.Records[1].Fields); fields != `{}` {
		t.Errorf("an absent and a null field gave %s", fields)
	}
	if !page.Newest.Equal(got.UpdatedAt) {
		t.Errorf("newest %v", page.Newest)
	}
	if page.Says.Token != "n1" || page.Says.Total == nil || *page.Says.Total != 12 || page.Says.HasMore != nil {
		t.Errorf("paging saw %+v", page.Says)
	}
}

// A field name may hold any character; the mapped record stays JSON.
func TestFieldNamesAreQuoted(t *testing.T) {
	name := `a "quoted"\name`
	r := compiled(t, func(c *Config) { c.Fields = map[string]Selector{name: sel("$.title")} })
	var fields map[string]string
	raw := read(t, r, bodyOf(`{"id":"a","at":"2025-03-05","title":"x"}`)).Records[0].Fields
	if err := json.Unmarshal(raw, &fields); err != nil || fields[name] != "x" {
		t.Errorf("%s: %v", raw, err)
	}
}

func TestPagingSeesFlagAndNumbersAsText(t *testing.T) {
	r := compiled(t)
	for body, want := range map[string]string{
		`{"ok":1,"data":[],"more":true,"total":"17","next":5}`:       `true 17 "5"`,
		`{"ok":1,"data":[],"more":false,"total":1.0}`:                `false 1 ""`,
		`{"ok":1,"data":[],"more":null,"total":null,"next":null}`:    `nil nil ""`,
		`{"ok":1,"data":[],"next":[]}`:                               `nil nil ""`,
		`{"ok":1,"data":[],"more":"False","total":"x"}`:              `false nil ""`,
		`{"ok":1,"data":[],"total":1e3,"next":"a&b=c\u0000"}`:        `nil nil "a&b=c\x00"`,
		`{"ok":1,"data":[],"total":99999999999999999999,"next":" "}`: `nil nil " "`,
	} {
		says := read(t, r, []byte(body)).Says
		more, total := "nil", "nil"
		if says.HasMore != nil {
			more = fmt.Sprint(*says.HasMore)
		}
		if says.Total != nil {
			total = fmt.Sprint(*says.Total)
		}
		if got := fmt.Sprintf("%s %s %q", more, total, says.Token); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// What should lead to the next page and cannot be read must not look like the
// end of the list: the rest of it would be a silent hole.
func TestUnreadableNextIsNoEnd(t *testing.T) {
	r := compiled(t, func(c *Config) { c.NextURL = sel("$.url") })
	for _, body := range []string{
		`{"ok":1,"data":[],"next":{"token":"x"}}`, `{"ok":1,"data":[],"next":["x"]}`, `{"ok":1,"data":[],"url":{"href":"/2"}}`,
		`{"ok":1,"data":[],"more":"yes"}`, `{"ok":1,"data":[],"more":1}`,
	} {
		if page, err := r.Read([]byte(body), Asked{}); fault.As(err).Code != fault.BadBody {
			t.Errorf("%s was read as %+v (%v)", body, page, err)
		}
	}
}

// D§5.15: what is not a page is an error and never an empty page.
func TestNotAPage(t *testing.T) {
	r := compiled(t)
	good := bodyOf(`{"id":"a","at":"2025-03-05"}`)
	for name, body := range map[string]string{
		"empty":            "",
		"blank":            "  \n",
		"html":             "<html><body>Bad gateway</body></html>",
		"html after a BOM": "\xef\xbb\xbf<html></html>",
		"error object":     `{"ok":false,"error":"too many requests"}`,
		"no items path":    `{"ok":true,"total":0}`,
		"items null":       `{"ok":true,"data":null}`,
		"items an object":  `{"ok":true,"data":{}}`,
		"items a text":     `{"ok":true,"data":"none"}`,
		"root an array":    `[{"id":"a","at":"2025-03-05"}]`,
		"root null":        `null`,
		"no mustHave":      `{"data":[]}`,
		"cut in an item":   string(good[:20]),
		"cut at the end":   string(good[:len(good)-1]),
		"two documents":    string(good) + string(good),
		"trailing text":    string(good) + "x",
		"NaN":              `{"ok":true,"data":[],"total":NaN}`,
		"too deep":         `{"ok":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `,"data":[]}`,
		"two next tokens":  `{"ok":true,"data":[],"next":"a","next":"b"}`,
	} {
		page, err := r.Read([]byte(body), asked)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.BadBody || f.Level != fault.Transient {
			t.Errorf("%s: page %+v, error %v; want BAD_BODY", name, page, err)
		} else if len(err.Error()) > 400 {
			t.Errorf("%s: the error repeats the body: %d bytes", name, len(err.Error()))
		}
	}
}

// Every cut of a good page is refused: a connection that ends early without an
// error of the transport must not pass for a short page (F26).
func TestNoPrefixOfAPageIsAPage(t *testing.T) {
	r := compiled(t)
	whole := bodyOf(`{"id":"a","at":"2025-03-05","title":"ü"}`, `{"id":"b","at":"2025-03-06"}`)
	for n := range len(whole) {
		if page, err := r.Read(whole[:n], asked); err == nil {
			t.Fatalf("%d of %d bytes were read as a page with %d items", n, len(whole), page.Seen)
		}
	}
}

func TestMustHaveMayBeNull(t *testing.T) {
	if page := read(t, compiled(t), []byte(`{"ok":null,"data":[]}`)); page.Seen != 0 {
		t.Errorf("%+v", page)
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no items":         func(c *Config) { c.Items = document.Path{} },
		"no id":            func(c *Config) { c.ID = Selector{} },
		"empty field":      func(c *Config) { c.Fields["title"] = Selector{} },
		"delimiter":        func(c *Config) { c.Delimiter = ";" },
		"rows below $":     func(c *Config) { c.Format = document.FormatCSV },
		"unknown format":   func(c *Config) { c.Format = "YAML" },
		"unknown zone":     func(c *Config) { c.Zone = "Mars/Base" },
		"bad date format":  func(c *Config) { c.DateFormats = []string{"YYYY-MM-DD"} },
		"unknown required": func(c *Config) { c.Required = []string{"year"} },
		"nothing to fill":  func(c *Config) { c.FillOnly, c.Fields = true, nil },
	} {
		if _, err := Compile(shelf(change)); err == nil {
			t.Errorf("%s: compiled", name)
		}
	}
}

// The page knows which of its items are new to a walk, the bad ones too.
func TestKeysTellItemsApart(t *testing.T) {
	page := read(t, compiled(t), bodyOf(`{"id":"a","at":"2025-03-05"}`, `{"at":"1"}`, `{"at":"2"}`, `{"at":"1"}`, `{"id":"a","at":"2025-03-06"}`))
	distinct := map[record.Key]bool{}
	for _, key := range page.Keys {
		distinct[key] = true
	}
	if len(page.Keys) != 5 || len(distinct) != 3 {
		t.Errorf("%d keys, %d distinct; want 5 and 3", len(page.Keys), len(distinct))
	}
}

// A total that is there and cannot be read is told, and is an error where a walk
// cannot end without it.
func TestUnreadableTotal(t *testing.T) {
	computed := func(c *Config) { c.Total = sel("${jsonPath('$.total')}") }
	for _, c := range []struct {
		total  string
		change func(*Config)
		want   string
	}{
		{`"1,234"`, nil, `unreadable at $.total ("1,234")`},
		{`{"value":3}`, nil, `unreadable at $.total ({"value":3})`},
		{`1.5`, nil, `unreadable at $.total (1.5)`},
		{`true`, nil, `unreadable at $.total (true)`},
		{`"1,234"`, computed, `unreadable at ${jsonPath('$.total')} ("1,234")`},
		{`"12"`, nil, ""}, {`12.0`, nil, ""}, {`null`, nil, ""}, {`[]`, nil, ""}, {`null`, computed, ""}, {`""`, computed, ""}, {`"12"`, computed, ""},
	} {
		var changes []func(*Config)
		if c.change != nil {
			changes = append(changes, c.change)
		}
		r := compiled(t, changes...)
		body := []byte(`{"ok":true,"data":[],"total":` + c.total + `}`)
		if page := read(t, r, body); page.BadTotal != c.want {
			t.Errorf("total %s: %q, want %q", c.total, page.BadTotal, c.want)
		}
		_, err := r.InsistOnTotal().Read(body, asked)
		var f *fault.Error
		if isBad := errors.As(err, &f) && f.Code == fault.BadBody && strings.Contains(err.Error(), c.want); isBad != (c.want != "") {
			t.Errorf("total %s, which the walk needs: %v", c.total, err)
		}
	}
	if page := read(t, compiled(t), []byte(`{"ok":true,"data":[]}`)); page.BadTotal != "" {
		t.Errorf("no total: %q", page.BadTotal)
	}
}

package extract

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/record"
)

func TestSelectorText(t *testing.T) {
	for text, kind := range map[string]string{
		"$":                       "path",
		"$.id":                    "path",
		"$['a','b']":              "paths",
		"$[?@.a=='${x}']":         "paths",
		"${jsonPath('$.id')}":     "template",
		"doi:${jsonPath('$.id')}": "template",
		"":                        "",
		"id":                      "",
		"$.":                      "",
		"${nope('x')}":            "",
		"${jsonPath('$.')}":       "",
		"${jsonPath('$.id')":      "",
		"${env('HOME')}":          "",
	} {
		var s Selector
		err := json.Unmarshal([]byte(quoted(text)), &s)
		switch {
		case kind == "" && (err == nil || !s.IsZero()):
			t.Errorf("%q was taken", text)
		case kind != "" && (err != nil || s.IsZero() || s.String() != text || s.IsTemplate() != (kind == "template") || s.Singular() != (kind != "paths") || s.Path().IsZero() != (kind == "template")):
			t.Errorf("%q: %v, %+v", text, err, s)
		}
	}
	c := Config{Items: path("$.data"), ID: sel("$.id"), Gone: pred("$.gone")[0], Fields: fields("a", "${lower(jsonPath('$.a'))}")}
	raw, err := json.Marshal(c)
	if want := `{"items":"$.data","id":"$.id","gone":"$.gone","fields":{"a":"${lower(jsonPath('$.a'))}"},"maxRejectRate":0}`; err != nil || string(raw) != want {
		t.Errorf("%s, %v\nwant %s", raw, err, want)
	}
	var back Config
	if err := json.Unmarshal(raw, &back); err != nil || back.Fields["a"].String() != c.Fields["a"].String() || back.Gone.String() != "$.gone" || !back.UpdatedAt.IsZero() {
		t.Errorf("%+v, %v", back, err)
	}
}

func quoted(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}

func TestPredicates(t *testing.T) {
	for body, want := range map[string]bool{
		`{}`: false, `{"e":null}`: false, `{"e":false}`: false, `{"e":""}`: false, `{"e":[]}`: false, `{"e":[ ]}`: false,
		`{"e":0}`: true, `{"e":true}`: true, `{"e":"x"}`: true, `{"e":[null]}`: true, `{"e":[[]]}`: true, `{"e":{}}`: true,
	} {
		r := compiled(t, func(c *Config) { c.ErrorWhen = pred("$.e") })
		_, err := r.Read([]byte(`{"ok":1,"data":[],`+body[1:]), asked)
		if body == `{}` {
			_, err = r.Read([]byte(`{"ok":1,"data":[]}`), asked)
		}
		if (err != nil) != want {
			t.Errorf("$.e in %s: %v, want %v", body, err, want)
		}
	}
	for filter, want := range map[string]bool{
		"$.list[?@.code=='a']":                       true,
		"$.list[?@.code=='z']":                       false,
		"$.list[*].flag":                             false, // null and false only
		"$..code":                                    true,
		"${length(jsonPath('$.list')) > 1}":          true,
		"${jsonPath('$.none') == 'x'}":               false,
		"${jsonPath('$.list') }":                     true, // not a boolean: an error
		"${jsonPath('$.none')}":                      true, // nor is nothing
		"${regexFind(jsonPath('$.list'), 'a') == 1}": true, // cannot be evaluated
	} {
		r := compiled(t, func(c *Config) { c.ErrorWhen = pred(filter) })
		_, err := r.Read([]byte(`{"ok":1,"data":[],"list":[{"code":"a","flag":null},{"code":"b","flag":false}]}`), asked)
		if (err != nil) != want {
			t.Errorf("%s: %v, want %v", filter, err, want)
		}
	}
}

// emptyWhen comes before errorWhen, and mustHave last; none of them hides items.
func TestOrderOfPredicates(t *testing.T) {
	r := compiled(t, func(c *Config) { c.EmptyWhen, c.ErrorWhen = pred("$.none"), pred("$.none", "$.bad") })
	for body, want := range map[string]string{
		`{"none":"nothing found"}`:                           "empty",
		`{"none":"nothing found","bad":1,"data":[]}`:         "empty",
		`{"none":"x","data":[{"id":"a","at":"2025-03-05"}]}`: "errorWhen $.none",
		`{"bad":"x"}`:        "errorWhen $.bad",
		`{}`:                 "no array",
		`{"data":[]}`:        "mustHave",
		`{"data":[],"ok":1}`: "",
	} {
		page, err := r.Read([]byte(body), asked)
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case page.EmptyBy != "":
			got = "empty"
		}
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// What a template computes is written as JSON; nothing is left out.
func TestComputedFields(t *testing.T) {
	r := compiled(t, func(c *Config) {
		c.Fields = fields(
			"text", "${upper(jsonPath('$.t'))}", "whole", "${int(default(jsonPath('$.n'), 0)) * 2}", "real", "${number(default(jsonPath('$.n'), 0)) / 4}", "flag", "${default(jsonPath('$.n'), 0) > 1}",
			"list", "${split(jsonPath('$.t'), ',')}", "none", "${jsonPath('$.nothing')}", "date", "${parseDate(jsonPath('$.at'), 'yyyy-MM-dd')}",
			"mixed", "n=${jsonPath('$.n')}", "tree", "${jsonPath('$.o')}", "big", "${jsonPath('$.big')}", "constant", "${'x'}", "copied", "$.n", "quoted", "${jsonPath('$.q')}",
		)
	})
	got, reject := one(t, r, `{"id":"a","at":"2025-03-05","t":"x,y","n":6,"o":{"b":[1,null,"z"],"a":1.5},"big":9007199254740993,"q":"a\"\u2028<b>"}`)
	if reject != nil {
		t.Fatalf("%+v", reject)
	}
	want := `{"big":9007199254740993,"constant":"x","copied":6,"date":"2025-03-05T00:00:00Z","flag":true,"list":["x","y"],"mixed":"n=6",` +
		`"quoted":"a\"` + "\u2028" + `<b>","real":1.5,"text":"X,Y","tree":{"a":1.5,"b":[1,null,"z"]},"whole":12}`
	if string(got.Fields) != want || !json.Valid(got.Fields) {
		t.Errorf("got  %s\nwant %s", got.Fields, want)
	}
}

// A template that fails on an item costs that item and names the field.
func TestFailingTemplatesAreRejects(t *testing.T) {
	good := `{"id":"a","at":"2025-03-05","n":1}`
	for name, change := range map[string]func(*Config){
		"output field \"f\"": func(c *Config) { c.Fields = fields("f", "${1 / int(default(jsonPath('$.zero'), 1))}") },
		"id:":                func(c *Config) { c.ID = sel("${1 / int(default(jsonPath('$.zero'), 1)) > 0 ? jsonPath('$.id') : ''}") },
		"version:":           func(c *Config) { c.Version = sel("${1 / int(default(jsonPath('$.zero'), 1))}") },
		"gone:":              func(c *Config) { c.Gone = pred("${1 / int(default(jsonPath('$.zero'), 1)) > 2}")[0] },
	} {
		r := compiled(t, change)
		if _, reject := one(t, r, `{"id":"b","at":"2025-03-05","zero":0}`); reject == nil || reject.Reason != record.MappingFailed || !strings.HasPrefix(reject.Detail, name) || reject.Path == "" {
			t.Errorf("%s: %+v", name, reject)
		}
		if _, reject := one(t, r, good); reject != nil {
			t.Errorf("%s: %+v", name, reject)
		}
	}
	r := compiled(t, func(c *Config) { c.UpdatedAt = sel("${parseDate(jsonPath('$.at'), 'yyyy-MM-dd')}") })
	if _, reject := one(t, r, `{"id":"b","at":"soon"}`); reject == nil || reject.Reason != record.BadUpdatedAt {
		t.Errorf("%+v", reject)
	}
	if got, reject := one(t, r, `{"id":"b","at":"2025-03-07"}`); reject != nil || got.UpdatedAt.Day() != 7 {
		t.Errorf("%+v", reject)
	}
}

// Items that lack a part of their id must not become one record.
func TestComputedIDsAreWhole(t *testing.T) {
	for template, wants := range map[string]map[string]string{
		"${concat(jsonPath('$.s'), ':', jsonPath('$.id'))}":      {`"s":"M","id":"1"`: "M:1", `"s":"M"`: "", `"id":"1"`: "", `"s":"","id":"1"`: "", `"s":"M","id":null`: "", `"s":"M","id":0`: "M:0"},
		"${coalesce(jsonPath('$.doi'), jsonPath('$.id'))}":       {`"doi":"d"`: "d", `"id":"1"`: "1", `"s":"M"`: ""},
		"x:${default(jsonPath('$.doi'), jsonPath('$.id'))}":      {`"doi":"d"`: "x:d", `"id":"1"`: "x:1", `"s":"M"`: ""},
		"${concat('a:', regexFind(jsonPath('$.id'), '[0-9]+'))}": {`"id":"n7"`: "a:7", `"id":"n"`: ""},
		"${regexFind(jsonPath('$.id'), 'abs/(.*)', 1)}":          {`"id":"abs/7"`: "7", `"id":"7"`: ""},
	} {
		r := compiled(t, func(c *Config) { c.ID = sel(template) })
		for item, want := range wants {
			page := read(t, r, bodyOf(`{`+item+`,"at":"2025-03-05"}`))
			switch {
			case want == "" && (len(page.Rejects) != 1 || page.Rejects[0].Reason != record.MissingID):
				t.Errorf("%s with %s: %s", template, item, summary(page))
			case want != "" && (len(page.Records) != 1 || page.Records[0].ProviderID != want):
				t.Errorf("%s with %s: %s, want %s", template, item, summary(page), want)
			}
		}
	}
}

// Without updatedAt an item has no date of its own and is none the worse.
func TestWithoutUpdatedAt(t *testing.T) {
	r := compiled(t, func(c *Config) { c.UpdatedAt, c.Filtered = Selector{}, Selector{} })
	page := read(t, r, bodyOf(`{"id":"a"}`, `{"id":"b","at":"nonsense"}`))
	if len(page.Records) != 2 || len(page.Rejects) != 0 || !page.Records[0].UpdatedAt.IsZero() || !page.Newest.IsZero() || !page.Records[0].FetchAt.Equal(asked.FetchAt) {
		t.Errorf("%s", summary(page))
	}
}

// A deletion has little more than an id: no date and no fields are needed, but a
// date that cannot be read is still an error.
func TestAnnouncedDeletions(t *testing.T) {
	r := compiled(t, func(c *Config) { c.Gone, c.Required = pred("$.deleted")[0], []string{"title"} })
	for item, want := range map[string]string{
		`{"id":"a","deleted":true}`:                                "gone",
		`{"id":"a","deleted":true,"at":null}`:                      "gone",
		`{"id":"a","deleted":true,"at":"2025-03-05"}`:              "gone",
		`{"id":"a","deleted":true,"at":"soon"}`:                    "!BAD_UPDATED_AT",
		`{"deleted":true}`:                                         "!MISSING_ID",
		`{"id":"a","deleted":false,"at":"2025-03-05"}`:             "!MISSING_FIELD",
		`{"id":"a","deleted":false,"at":"2025-03-05","title":"t"}`: "stored",
		`{"id":"a","title":"t"}`:                                   "!BAD_UPDATED_AT",
	} {
		in, reject := one(t, r, item)
		got := "stored"
		switch {
		case reject != nil:
			got = "!" + string(reject.Reason)
		case in.Gone:
			got = "gone"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", item, got, want)
		}
	}
}

func TestNullItems(t *testing.T) {
	body := bodyOf(`{"id":"a","at":"2025-03-05"}`, `null`, `{"id":"b","at":"2025-03-05"}`)
	page := read(t, compiled(t), body)
	if page.Seen != 3 || len(page.Rejects) != 1 || page.Rejects[0].Reason != record.BadItem || page.Rejects[0].Index != 1 {
		t.Errorf("%s", summary(page))
	}
	page = read(t, compiled(t, func(c *Config) { c.SkipNull = true }), body)
	// The page still delivered three places: it must not look short to paging.
	if page.Seen != 2 || page.Nulls != 1 || len(page.Rejects) != 0 || len(page.Keys) != 2 || page.Says.Items != 3 {
		t.Errorf("%s", summary(page))
	}
}

func TestComputedPaging(t *testing.T) {
	r := compiled(t, func(c *Config) {
		c.NextToken = sel("${jsonPath('$.page') + 1}")
		c.NextURL = sel("${concat('/items?page=', jsonPath('$.page') + 1)}")
		c.HasMore = sel("${jsonPath('$.page') < jsonPath('$.pages')}")
		c.Total = sel("${int(jsonPath('$.pages')) * 10}")
	})
	says := read(t, r, []byte(`{"ok":1,"data":[],"page":1,"pages":2}`)).Says
	if says.Token != "2" || says.URL != "/items?page=2" || says.HasMore == nil || !*says.HasMore || says.Total == nil || *says.Total != 20 {
		t.Errorf("%+v", says)
	}
	// What cannot be computed fails the page: a guess could end the walk.
	if _, err := r.Read([]byte(`{"ok":1,"data":[],"page":"x","pages":2}`), asked); err == nil {
		t.Error("paging was guessed")
	}
}

func TestErrorsShowNoCredentials(t *testing.T) {
	for _, body := range []string{
		`{"error":"limit","api-key":"canary","count":4}`, `{"msg":"bad api_key=canary&x=1"}`, `{"Authorization":"Bearer canary"}`, `<e>token: canary</e>`,
		`{"x":"mailto=canary@example.org"}`, `{"access_key" : "canary"}`,
	} {
		if text := showPart([]byte(body), maxShown); strings.Contains(text, "canary") {
			t.Errorf("%s is shown as %s", body, text)
		}
	}
	for _, body := range []string{`{"error":"badResumptionToken"}`, `the token expired`, `{"count":4}`} {
		if text := showPart([]byte(body), maxShown); text != body {
			t.Errorf("%s is shown as %s", body, text)
		}
	}
	if text := showPart([]byte(strings.Repeat("ü", 500)), 7); text != "üüü…" {
		t.Errorf("%q", text)
	}
}

func TestRawBytesStay(t *testing.T) {
	r := endpoint(t, "oai")
	item := "<record><header><identifier>1</identifier><datestamp>2025-03-05</datestamp></header>\n <metadata><dc><title> T &amp; U </title></dc></metadata></record>"
	page := read(t, r, []byte("<OAI-PMH><ListRecords>"+item+"</ListRecords></OAI-PMH>"))
	if len(page.Records) != 1 || string(page.Records[0].Payload) != item || string(page.Records[0].Fields) != `{"title":["T & U"]}` {
		t.Fatalf("%s", summary(page))
	}
	// White space between elements is not content; a changed title is.
	same := read(t, r, []byte("<OAI-PMH><ListRecords>"+strings.ReplaceAll(item, "\n ", "")+"</ListRecords></OAI-PMH>"))
	other := read(t, r, []byte("<OAI-PMH><ListRecords>"+strings.ReplaceAll(item, "U", "V")+"</ListRecords></OAI-PMH>"))
	if same.Records[0].ContentHash != page.Records[0].ContentHash || other.Records[0].ContentHash == page.Records[0].ContentHash {
		t.Error("the hash does not follow the content")
	}
}

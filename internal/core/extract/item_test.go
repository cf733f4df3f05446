package extract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/record"
)

// one reads a page with a single item beside a good one: the good one must
// always come through.
func one(t *testing.T, r *Reader, item string) (*record.Incoming, *record.Reject) {
	t.Helper()
	page := read(t, r, bodyOf(`{"id":"beside","at":"2025-03-09","title":"t"}`, item))
	if len(page.Records) == 0 || page.Records[0].ProviderID != "beside" {
		t.Fatalf("%s: the good item beside it got lost: %+v", item, page)
	}
	switch {
	case len(page.Records) == 2 && len(page.Rejects) == 0:
		return &page.Records[1], nil
	case len(page.Records) == 1 && len(page.Rejects) == 1 && page.Rejects[0].Index == 1:
		return nil, &page.Rejects[0]
	}
	t.Fatalf("%s: %+v", item, page)
	return nil, nil
}

func TestIDs(t *testing.T) {
	keep, lower := compiled(t), compiled(t, func(c *Config) { c.IDCase = "LOWER" })
	for _, c := range []struct {
		name   string
		reader *Reader
		id     string // JSON
		want   string // id, or reason after !
	}{
		{"text", keep, `"10.1/AbC"`, "10.1/AbC"},
		{"lower", lower, `"10.1/AbC"`, "10.1/abc"},
		{"lower beyond ASCII", lower, `"ÄÖ"`, "äö"},
		{"number", keep, `42`, "42"},
		{"2^63", keep, `9223372036854775808`, "9223372036854775808"},
		{"2^53+1", keep, `9007199254740993`, "9007199254740993"},
		{"escapes", keep, `"a\u002Fb\n"`, "a/b\n"},
		{"trailing blank", keep, `"a "`, "a "},
		{"NUL", keep, `"a\u0000"`, "a\x00"},
		{"longest", keep, `"` + strings.Repeat("x", record.MaxIDBytes) + `"`, strings.Repeat("x", record.MaxIDBytes)},
		{"too long", keep, `"` + strings.Repeat("x", record.MaxIDBytes+1) + `"`, "!ID_TOO_LONG"},
		{"too long in bytes", keep, `"` + strings.Repeat("ü", record.MaxIDBytes/2+1) + `"`, "!ID_TOO_LONG"},
		{"longer when lowered", lower, `"` + strings.Repeat("Ⱥ", record.MaxIDBytes/2) + `"`, "!ID_TOO_LONG"},
		{"null", keep, `null`, "!MISSING_ID"},
		{"empty", keep, `""`, "!MISSING_ID"},
		{"list", keep, `["a"]`, "!MISSING_ID"},
		{"object", keep, `{"value":"a"}`, "!MISSING_ID"},
		{"invalid UTF-8", keep, "\"a\xff\"", "!BAD_ITEM"},
		{"lone surrogate", keep, `"a\ud800"`, "!BAD_ITEM"},
	} {
		got, reject := one(t, c.reader, fmt.Sprintf(`{"id":%s,"at":"2025-03-05"}`, c.id))
		switch {
		case reject != nil:
			if "!"+string(reject.Reason) != c.want {
				t.Errorf("%s: rejected as %s (%s), want %q", c.name, reject.Reason, reject.Detail, c.want)
			}
		case got.ProviderID != c.want:
			t.Errorf("%s: id %q, want %q", c.name, got.ProviderID, c.want)
		}
	}
	if _, reject := one(t, keep, `{"at":"2025-03-05"}`); reject == nil || reject.Reason != record.MissingID || reject.Path != path("$.id").String() {
		t.Errorf("no id: %+v", reject)
	}
}

// Ids that differ stay different; ids that LOWER makes equal are one record.
func TestCaseTwins(t *testing.T) {
	twins := bodyOf(`{"id":"A","at":"2025-03-05"}`, `{"id":"a","at":"2025-03-06"}`, `{"id":"a ","at":"2025-03-06"}`)
	if page := read(t, compiled(t), twins); len(page.Records) != 3 || page.Duplicate != 0 {
		t.Errorf("KEEP: %+v", page)
	}
	page := read(t, compiled(t, func(c *Config) { c.IDCase = "LOWER" }), twins)
	if len(page.Records) != 2 || page.Duplicate != 1 || page.Records[0].UpdatedAt.Day() != 6 {
		t.Errorf("LOWER: %d records, %d duplicates; the newer of twins must win: %+v", len(page.Records), page.Duplicate, page.Records)
	}
}

// An item is dropped only when its own date says that it was not asked for, and
// nobody else chose it: what an upstream's filter selected is kept and counted (D§5.11).
func TestOutside(t *testing.T) {
	r := compiled(t, func(c *Config) { c.UpdatedAt, c.Filtered = sel("$.changed"), sel("$.at") })
	for at, outside := range map[string]bool{
		`"2025-03-01T00:00:00Z"`:        false,
		`"2025-03-31T23:59:59.999999Z"`: false,
		`"2025-04-01T00:00:00Z"`:        true,
		`"2025-02-28T23:59:59.999999Z"`: true,
		`"some day"`:                    false,
		`null`:                          false,
		`"2025-03"`:                     false,
		`"2025"`:                        false, // may lie in March
		`"2025-04"`:                     true,
		`"2024"`:                        true,
		`"Winter 2025"`:                 false, // whose winter is not known
		`"2025 Nov-Dec"`:                false,
		`"1998 Dec-1999 Jan"`:           true,
	} {
		page := read(t, r, bodyOf(`{"id":"a","changed":"2031-01-01","at":`+at+`}`))
		if got := page.Outside == 1; got != outside || len(page.Records)+page.Outside != 1 {
			t.Errorf("%s: outside %v, want %v: %+v", at, got, outside, page)
		}
		if outside && !page.Newest.IsZero() {
			t.Errorf("%s: an item that is not stored moved the newest stamp", at)
		}
		chosen := asked
		chosen.Drop = false
		page, err := r.Read(bodyOf(`{"id":"a","changed":"2031-01-01","at":`+at+`}`), chosen)
		if err != nil || page.Outside != 0 || len(page.Records) != 1 || (page.Kept == 1) != outside || page.Apart.Count() != int64(page.Kept) {
			t.Errorf("%s, chosen by the upstream: %+v %v", at, page, err)
		}
	}
}

func TestVolatilePartsDoNotChangeTheHash(t *testing.T) {
	r := compiled(t)
	hash := func(rest string) record.Digest {
		got, reject := one(t, r, `{"id":"a","at":"2025-03-05"`+rest+`}`)
		if reject != nil {
			t.Fatalf("%s: %+v", rest, reject)
		}
		return got.ContentHash
	}
	base := hash(`,"score":1,"seen":{"at":1,"by":"x"},"n":1.0,"list":[1,2]`)
	for _, same := range []string{
		`,"score":2,"seen":{"at":1,"by":"x"},"n":1.0,"list":[1,2]`,
		`,"seen":{"at":99,"by":"x"},"n":1.0,"list":[1,2]`,
		`,"list": [ 1, 2 ], "n":1.0,"seen":{"by":"x"},"score":{"deep":[1]}`,
		`,"score":1,"s\u0065en":{"at":1,"by":"x"},"n":1.0,"list":[1,2]`,
	} {
		if hash(same) != base {
			t.Errorf("%s counts as a change", same)
		}
	}
	for _, other := range []string{
		`,"score":1,"seen":{"at":1,"by":"y"},"n":1.0,"list":[1,2]`,
		`,"score":1,"seen":{"at":1,"by":"x"},"n":1.0,"list":[2,1]`,
		`,"score":1,"seen":{"at":1,"by":"x"},"n":2,"list":[1,2]`,
		`,"score":1,"seen":{"at":1,"by":"x"},"n":1.0,"list":[1,2],"extra":null`,
		`,"score":1,"seen":{"at":1,"by":"x"},"n":1.0,"list":[1,2],"inner":{"score":1}`,
		`,"score":1,"n":1.0,"list":[1,2]`,
	} {
		if hash(other) == base {
			t.Errorf("%s is not seen as a change", other)
		}
	}
}

func TestRequiredFields(t *testing.T) {
	r := compiled(t, func(c *Config) { c.Required = []string{"title"} })
	for item, ok := range map[string]bool{
		`{"id":"a","at":"2025-03-05","title":""}`:   true,
		`{"id":"a","at":"2025-03-05","title":null}`: false,
		`{"id":"a","at":"2025-03-05"}`:              false,
	} {
		_, reject := one(t, r, item)
		if (reject == nil) != ok || reject != nil && (reject.Reason != record.MissingField || reject.ProviderID != "a") {
			t.Errorf("%s: %+v", item, reject)
		}
	}
}

// Every item says it, the deletions too: what it means for them is decided
// beside the stored record.
func TestItemsThatOnlyFillSaySo(t *testing.T) {
	for _, want := range []bool{false, true} {
		r := compiled(t, func(c *Config) { c.FillOnly, c.Gone = want, pred("$.deleted")[0] })
		for _, item := range []string{`{"id":"a","at":"2025-03-05","title":"t"}`, `{"id":"a","at":"2025-03-05","deleted":true}`} {
			if in, _ := one(t, r, item); in == nil || in.FillOnly != want {
				t.Errorf("%s: %+v, want %t", item, in, want)
			}
		}
	}
}

// A16: which of two equal names counts would be a guess, so the item is set
// aside, and only that item.
func TestDuplicateNamesRejectOneItem(t *testing.T) {
	r := compiled(t)
	for _, item := range []string{
		`{"id":"a","id":"b","at":"2025-03-05"}`,
		`{"id":"a","at":"2025-03-05","x":{"y":1,"y":1}}`,
		`{"id":"a","at":"2025-03-05","\u0061t":"2025-03-06"}`,
	} {
		if _, reject := one(t, r, item); reject == nil || reject.Reason != record.BadItem || string(reject.Raw) != item {
			t.Errorf("%s: %+v", item, reject)
		}
	}
}

// F7: a defect of ours costs the item it meets.
func TestPanicIsOneReject(t *testing.T) {
	r := compiled(t)
	broken := document.Item{Raw: []byte(`{"id":"a"}`)} // without the values the reader looks for
	_, reject, outside := r.readItem(entry{Item: broken}, asked, &Page{}, new([]byte))
	if reject == nil || reject.Reason != record.MappingFailed || outside || string(reject.Raw) != `{"id":"a"}` {
		t.Errorf("%+v", reject)
	}
}

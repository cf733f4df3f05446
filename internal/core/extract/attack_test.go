package extract

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
)

// A14, A15, A17, A18 as an endpoint meets them: a hostile page is a bad body,
// never an empty one, and what is told of it is short and can be printed.
func TestA14ToA18HostilePages(t *testing.T) {
	xml := func(c *Config) {
		*c = Config{Format: document.FormatXML, Items: path("$.set.a"), ID: sel("$['@id']"), UpdatedAt: sel("$.at")}
	}
	many := strings.Repeat("{},", 120_000)
	for name, c := range map[string]struct {
		reader *Reader
		body   string
	}{
		"A14 depth":              {compiled(t), strings.Repeat("[", 1_000_000)},
		"A14 depth in an item":   {compiled(t), `{"ok":1,"data":[` + strings.Repeat(`{"x":`, 200) + "1" + strings.Repeat("}", 200) + `]}`},
		"A15 items":              {compiled(t), `{"ok":1,"data":[` + many + `{}]}`},
		"A17 declared entities":  {compiled(t, xml), `<!DOCTYPE set [<!ENTITY x "y">]><set><a id="&x;"/></set>`},
		"A17 external entity":    {compiled(t, xml), `<!DOCTYPE set [<!ENTITY x SYSTEM "file:///etc/passwd">]><set><a id="1">&x;</a></set>`},
		"A18 depth":              {compiled(t, xml), strings.Repeat("<set>", 1_000_000)},
		"A16 NUL":                {compiled(t), "{\"ok\":1,\"data\":[]}\x00"},
		"F31 a page for people":  {compiled(t), "<html>\x1b[2J" + strings.Repeat("sorry ", 10_000) + "</html>"},
		"F32 wide characters":    {compiled(t), "{\x00}\x00"},
		"F32 another format":     {compiled(t, xml), `{"set":[]}`},
		"F32 an unknown charset": {compiled(t, xml), `<?xml version="1.0" encoding="EBCDIC-CP-US"?><set/>`},
	} {
		page, err := c.reader.Read([]byte(c.body), asked)
		var f *fault.Error
		if page != nil || !errors.As(err, &f) || f.Code != fault.BadBody || f.Level != fault.Transient {
			t.Errorf("%s: %+v %v", name, page, err)
			continue
		}
		if text := f.Error(); len(text) > 600 || strings.ContainsAny(text, "\x00\x1b") {
			t.Errorf("%s: %d bytes: %.200q", name, len(text), text)
		}
	}
}

// A16: numbers that a float would make equal are two records.
func TestA16LargeIDsStayApart(t *testing.T) {
	page := read(t, compiled(t), bodyOf(
		`{"id":9007199254740992,"at":"2025-03-05"}`, `{"id":9007199254740993,"at":"2025-03-05"}`, `{"id":9223372036854775807,"at":"2025-03-05"}`, `{"id":9223372036854775808,"at":"2025-03-05"}`,
	))
	var ids []string
	for _, r := range page.Records {
		ids = append(ids, r.ProviderID)
	}
	if got := fmt.Sprint(ids); got != "[9007199254740992 9007199254740993 9223372036854775807 9223372036854775808]" {
		t.Errorf("%s", got)
	}
}

// F32: a page in another character set than it should be in loses no item
// silently: those that cannot be read are rejects.
func TestA16ForeignCharacterSet(t *testing.T) {
	latin := strings.NewReplacer("é", "\xe9", "ü", "\xfc").Replace(string(bodyOf(
		`{"id":"1","at":"2025-03-05","title":"plain"}`, `{"id":"2","at":"2025-03-05","title":"café"}`, `{"id":"über","at":"2025-03-05","title":"plain"}`,
	)))
	page := read(t, compiled(t), []byte(latin))
	if page.Seen != 3 || len(page.Records) != 1 || len(page.Rejects) != 2 {
		t.Fatalf("%+v", page)
	}
	for _, reject := range page.Rejects {
		if reject.Reason != record.BadItem || !strings.Contains(reject.Detail, "UTF-8") {
			t.Errorf("%+v", reject)
		}
	}
}

// A19: a filter with a pattern meets items without the member it looks at.
func TestA19PatternsOverAllItems(t *testing.T) {
	r := compiled(t, func(c *Config) { c.Items = path(`$.data[?match(@.kind, 'work|book')]`) })
	page := read(t, r, bodyOf(
		`{"id":"1","at":"2025-03-05","kind":"work"}`, `{"id":"2","at":"2025-03-05"}`, `{"id":"3","at":"2025-03-05","kind":7}`, `{"id":"4","at":"2025-03-05","kind":"book"}`, `{"id":"5","at":"2025-03-05","kind":"bookend"}`,
	))
	if len(page.Records) != 2 || page.Records[0].ProviderID != "1" || page.Records[1].ProviderID != "4" {
		t.Errorf("%+v", page)
	}
}

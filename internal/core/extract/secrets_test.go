package extract

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// What reading puts together is searched once more: a comment splits a text of XML,
// and no search of the body finds it.
func TestTrust02DecodedTextsAreMasked(t *testing.T) {
	const value = "sk-4f9c1e77aa0b4cd18e"
	split := value[:7] + "<!-- -->" + value[7:]
	r := compiled(t, func(c *Config) {
		*c = Config{
			Format: document.FormatXML, Items: path("$.list.item"), ID: sel("$.id"), Filtered: sel("$.at"), UpdatedAt: sel("$.at"),
			NextToken: sel("$.list.next"), Fields: map[string]Selector{"title": sel("$.title")},
		}
	})
	body := "<list><item><id>" + split + "</id><at>2025-03-04</at><title>by " + split + "</title></item><item><id>b</id><at>" + split + "</at></item><next>" + split + "</next></list>"
	page, err := r.Read([]byte(body), Asked{Secrets: secret.NewMasker(secret.New(value))})
	if err != nil || len(page.Records) != 1 || len(page.Rejects) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	in, reject := page.Records[0], page.Rejects[0]
	for what, text := range map[string]string{"the id": in.ProviderID, "the fields": string(in.Fields), "the next token": page.Says.Token, "why it was rejected": reject.Detail} {
		if strings.Contains(text, value) || !strings.Contains(text, "[secret]") {
			t.Errorf("%s: %s", what, text)
		}
	}
}

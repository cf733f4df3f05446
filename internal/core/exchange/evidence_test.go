package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// I12: headers that can carry a secret are not on the list of what is kept.
func TestEvidenceKeepsNoSecretHeader(t *testing.T) {
	const canary = "hunter2"
	header := Header{}
	for _, name := range []string{
		"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "X-Auth-Token", "Www-Authenticate", "Location", "X-Amz-Security-Token", "Etag",
	} {
		header.Set(name, canary)
	}
	header.Set("Accept", "application/json")
	header.Set("Content-Type", "application/json")
	header.Set("x-ratelimit-remaining", "3")
	at, err := url.Parse("https://api.example.org/works?rows=5")
	if err != nil {
		t.Fatal(err)
	}
	evidence := Evidence{
		Request:  DigestRequest(&Request{Method: "GET", URL: at, Header: header}),
		Response: DigestResponse(&Response{Status: 200, Header: header, Body: []byte("{}"), Took: 1500 * time.Millisecond}),
	}
	text, err := json.Marshal(evidence)
	if err != nil || strings.Contains(string(text), canary) {
		t.Errorf("%s %v", text, err)
	}
	if got := evidence.Request; got.Method != "GET" || got.URL != at.String() || len(got.Headers) != 1 || got.Headers["Accept"] != "application/json" {
		t.Errorf("request %+v", got)
	}
	if got := evidence.Response; got.Status != 200 || got.TookMS != 1500 || got.Bytes != 2 || len(got.Headers) != 2 || got.Headers["X-Ratelimit-Remaining"] != "3" {
		t.Errorf("response %+v", got)
	}
}

func TestSampleIsShortText(t *testing.T) {
	for name, body := range map[string]string{
		"empty":      "",
		"short":      "{}",
		"exact":      strings.Repeat("x", 1024),
		"long":       strings.Repeat("x", 5000),
		"cut rune":   strings.Repeat("x", 1023) + "漢字",
		"binary":     strings.Repeat("\xff\x00", 2000),
		"long runes": strings.Repeat("漢", 2000),
	} {
		got := DigestResponse(&Response{Body: []byte(body)})
		sum := sha256.Sum256([]byte(body))
		if len(got.Sample) > 1024 || !utf8.ValidString(got.Sample) || got.Bytes != len(body) || got.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: %d bytes of sample, valid %v, %d bytes, hash %s", name, len(got.Sample), utf8.ValidString(got.Sample), got.Bytes, got.SHA256)
		}
		if utf8.ValidString(body) && !strings.HasPrefix(body, got.Sample) {
			t.Errorf("%s: the sample is not the start of the body", name)
		}
	}
}

func TestHeaderNamesAreCanonical(t *testing.T) {
	h := Header{}
	h.Set("retry-AFTER", "1")
	h.Set("Retry-After", "2")
	if len(h) != 1 || h.Get("RETRY-after") != "2" || h.Get("Date") != "" {
		t.Errorf("%v", h)
	}
}

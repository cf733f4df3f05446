package transport

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
)

var awsSecrets = named{"env:KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "env:ID": "AKIDEXAMPLE", "env:TOKEN": "session-kanari/token=="}

func awsRequest(t *testing.T, method, address, service string, header exchange.Header, body string) exchange.Request {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if header == nil {
		header = exchange.Header{}
	}
	credential := exchange.Credential{Type: "CUSTOM", Signing: exchange.SigningAWS, Sign: exchange.Sign{Key: ref(t, "env:KEY"), KeyID: ref(t, "env:ID"), Region: "us-east-1", Service: service}}.WithDefaults()
	if complaints := credential.Complaints(); len(complaints) > 0 {
		t.Fatal(complaints)
	}
	return exchange.Request{Method: method, URL: target, Header: header, Body: []byte(body), Credential: credential}
}

// The figures are those that AWS publishes for its example key, at 2015-08-30T12:36:00Z.
func TestSignatureVersion4(t *testing.T) {
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	form := exchange.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}
	for name, c := range map[string]struct {
		request exchange.Request
		headers string
		want    string
	}{
		"nothing but a path":       {awsRequest(t, "GET", "https://example.amazonaws.com/", "service", nil, ""), "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		"no path":                  {awsRequest(t, "GET", "https://example.amazonaws.com", "service", nil, ""), "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		"a way up and down":        {awsRequest(t, "GET", "https://example.amazonaws.com/foo/..", "service", nil, ""), "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		"POST":                     {awsRequest(t, "POST", "https://example.amazonaws.com/", "service", nil, ""), "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		"a query in another order": {awsRequest(t, "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "service", nil, ""), "host;x-amz-date", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		"the list of users":        {awsRequest(t, "GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", "iam", form, ""), "content-type;host;x-amz-date", "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"},
	} {
		service := c.request.Credential.Sign.Service
		signed, hidden, err := signAWS(t.Context(), awsSecrets, c.request, at)
		want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/" + service + "/aws4_request, SignedHeaders=" + c.headers + ", Signature=" + c.want
		if err != nil || signed.Header.Get("Authorization") != want || signed.Header.Get("X-Amz-Date") != "20150830T123600Z" {
			t.Errorf("%s: %v\n%s, want\n%s", name, err, signed.Header.Get("Authorization"), want)
		}
		if c.request.Header.Get("Authorization") != "" || len(hidden) < 3 {
			t.Errorf("%s: the request above has the signature, or %d texts are hidden", name, len(hidden))
		}
	}
}

// A session token is sent and signed; S3 wants the hash of the body; the query leaves as it was
// signed.
func TestSignatureVersion4OfATemporaryKey(t *testing.T) {
	r := awsRequest(t, "POST", "https://bucket.example.org/a%20b//c?q=x+y%2Bz&b&a=2&a=1", "s3", exchange.Header{"Content-Type": {"application/json"}}, `{"a": 1}`)
	r.Credential.Sign.Token = ref(t, "env:TOKEN")
	signed, _, err := signAWS(t.Context(), awsSecrets, r, time.Now())
	if err != nil || signed.Header.Get("X-Amz-Security-Token") != "session-kanari/token==" || signed.Header.Get("X-Amz-Content-Sha256") != sumOf(`{"a": 1}`) {
		t.Errorf("%v: %v", err, signed.Header)
	}
	if signed.URL.RawQuery != "a=1&a=2&b=&q=x%20y%2Bz" || signed.URL.EscapedPath() != "/a%20b//c" || r.URL.RawQuery != "q=x+y%2Bz&b&a=2&a=1" {
		t.Errorf("sent %s", signed.URL)
	}
	if !strings.Contains(signed.Header.Get("Authorization"), "SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token,") {
		t.Error(signed.Header.Get("Authorization"))
	}
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// A recipe declares the text that is signed, the hash and what the header carries.
func TestADeclaredRecipe(t *testing.T) {
	for name, c := range map[string]struct {
		signing, encoding string
		sum               func(text string) string
	}{
		"hmac-sha512": {exchange.SigningHMAC512, "HEX", func(text string) string {
			mac := hmac.New(sha512.New, []byte(awsSecrets["env:KEY"]))
			mac.Write([]byte(text))
			return hex.EncodeToString(mac.Sum(nil))
		}},
		"hmac-sha1": {exchange.SigningHMAC1, "BASE64", func(text string) string {
			mac := hmac.New(sha1.New, []byte(awsSecrets["env:KEY"]))
			mac.Write([]byte(text))
			return base64.StdEncoding.EncodeToString(mac.Sum(nil))
		}},
	} {
		credential := exchange.Credential{Type: "CUSTOM", Signing: c.signing, Name: "X-Signed", Prefix: "HMAC ", Sign: exchange.Sign{
			Key: ref(t, "env:KEY"), KeyID: ref(t, "env:ID"), Text: "${method}|${host}${path}?${query}|${timestamp}|${keyId}|${body}", Value: `id="${keyId}", at="${timestamp}", sig="${signature}"`, Encoding: c.encoding, TimestampHeader: "X-At"}}.WithDefaults()
		if complaints := credential.Complaints(); len(complaints) > 0 {
			t.Fatal(complaints)
		}
		r := awsRequest(t, "POST", "https://API.example.org/works?b=2&a=1", "service", nil, "the body")
		r.Credential = credential
		signed, _, err := signHMAC(t.Context(), awsSecrets, r, time.Unix(1700000000, 0))
		want := `HMAC id="AKIDEXAMPLE", at="1700000000", sig="` + c.sum("POST|api.example.org/works?a=1&b=2|1700000000|AKIDEXAMPLE|the body") + `"`
		if err != nil || signed.Header.Get("X-Signed") != want || signed.Header.Get("X-At") != "1700000000" {
			t.Errorf("%s: %v\n%s, want\n%s", name, err, signed.Header.Get("X-Signed"), want)
		}
	}
}

package transport

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/exchange"
)

func path(t *testing.T, text string) document.Path {
	t.Helper()
	p, err := document.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// What a source may name is what there is.
func TestEveryNamedHookExists(t *testing.T) {
	if named := slices.Sorted(slices.Values(exchange.SigningHooks())); !slices.Equal(named, slices.Sorted(maps.Keys(signingHooks()))) {
		t.Errorf("files may name %v", named)
	}
}

func TestSigning(t *testing.T) {
	secrets := vault{"env:KEY": canary, "env:ID": "reader"}
	base := exchange.Credential{Type: "CUSTOM", Signing: exchange.SigningHMAC, Sign: exchange.Sign{Key: ref(t, "env:KEY")}}
	empty := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for name, c := range map[string]struct {
		change func(*exchange.Credential)
		text   string // that must be signed
		want   map[string]string
	}{
		"as it is": {func(*exchange.Credential) {}, "GET\n/a%2Fb\na=2&b=1\n946684800\n" + empty, map[string]string{"Authorization": "HEX", "X-Timestamp": "946684800"}},
		"with a key id": {func(c *exchange.Credential) {
			c.Prefix, c.Sign.KeyID, c.Sign.Encoding, c.Sign.TimestampFormat = "HMAC-SHA256 ", ref(t, "env:ID"), "BASE64", "RFC3339"
			c.Sign.Parts = []string{"TIMESTAMP", "KEY_ID", "HOST"}
		}, "2000-01-01T00:00:00Z\nreader\napi.example.org", map[string]string{"Authorization": "HMAC-SHA256 reader:BASE64", "X-Timestamp": "2000-01-01T00:00:00Z"}},
		"in headers of its own": {func(c *exchange.Credential) {
			c.Name, c.Sign.KeyID, c.Sign.KeyIDHeader, c.Sign.TimestampHeader, c.Sign.TimestampFormat = "X-Signature", ref(t, "env:ID"), "X-Key", "Date", "HTTP_DATE"
			c.Sign.Parts = []string{"METHOD", "TIMESTAMP"}
		}, "GET\nSat, 01 Jan 2000 00:00:00 GMT", map[string]string{"X-Signature": "HEX", "X-Key": "reader", "Date": "Sat, 01 Jan 2000 00:00:00 GMT"}},
		"without a time": {func(c *exchange.Credential) { c.Sign.Parts, c.Sign.TimestampFormat = []string{"PATH"}, "UNIX_MILLIS" }, "/a%2Fb", map[string]string{"Authorization": "HEX", "X-Timestamp": ""}},
	} {
		credential := base
		c.change(&credential)
		synctest.Test(t, func(t *testing.T) { // which starts with the year 2000
			leaf, in := &wire{}, asking(credential)
			in.Method, in.Body = "GET", nil
			in.URL = in.URL.ResolveReference(mustURL(t, "/a%2Fb?b=1&a=2"))
			call := &Call{Request: in}
			response, err := StackSigned(leaf, secrets, &turnstile{}).Do(t.Context(), call)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			mac := hmac.New(sha256.New, []byte(canary))
			mac.Write([]byte(c.text))
			filled := strings.NewReplacer("HEX", hex.EncodeToString(mac.Sum(nil)), "BASE64", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
			for header, want := range c.want {
				if got := leaf.sent.Header.Get(header); got != filled.Replace(want) {
					t.Errorf("%s: %s is %q, want %q", name, header, got, filled.Replace(want))
				}
			}
			quiet(t, call, response, err)
			if signature := filled.Replace("HEX"); strings.Contains(string(response.Body), signature) {
				t.Errorf("%s: an answer shows the signature", name)
			}
			if problems := in.Credential.Complaints(); len(problems) > 0 {
				t.Errorf("%s: %v", name, problems)
			}
		})
	}
}

// Every attempt is signed with its own time.
func TestRetriesAreSignedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := exchange.Credential{Type: "CUSTOM", Signing: exchange.SigningHMAC, Sign: exchange.Sign{Key: ref(t, "env:SECRET"), TimestampFormat: "UNIX_MILLIS"}}
		var stamps, signatures []string
		up := sending(func(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
			stamps = append(stamps, r.Header.Get("X-Timestamp"))
			signatures = append(signatures, r.Header.Get("Authorization"))
			return answer(map[bool]int{true: 200, false: 500}[len(stamps) == 3], "{}"), nil
		})
		if _, _, err := upon(t.Context(), StackSigned(up, grantSecrets, &turnstile{}), c.WithDefaults()); err != nil {
			t.Fatal(err)
		}
		if len(slices.Compact(stamps)) != 3 || len(slices.Compact(signatures)) != 3 {
			t.Errorf("%v %v", stamps, signatures)
		}
	})
}

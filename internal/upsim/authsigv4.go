package upsim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// sigV4Scope is what signatures of AuthSigV4 are for.
const sigV4Scope = "eu-central-1/execute-api/aws4_request"

// checkSigV4 computes the signature of a request from what arrived, for the headers that it
// says it signed.
func (g *gatekeeper) checkSigV4(c call, now time.Time) string {
	sent, found := strings.CutPrefix(c.header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="+g.User+"/")
	if !found {
		return "signature-missing"
	}
	stamp := c.header.Get("X-Amz-Date")
	at, err := time.Parse("20060102T150405Z", stamp)
	if err != nil || now.Sub(at).Abs() > g.Signing.Skew {
		return "timestamp-not-valid"
	}
	scope := stamp[:8] + "/" + sigV4Scope
	rest, found := strings.CutPrefix(sent, scope+", SignedHeaders=")
	names, signature, whole := strings.Cut(rest, ", Signature=")
	if !found || !whole || !slices.Contains(strings.Split(names, ";"), "host") || !slices.Contains(strings.Split(names, ";"), "x-amz-date") {
		return "signature-not-valid"
	}
	if g.Second != "" && !equalSecrets(c.header.Get("X-Amz-Security-Token"), g.Second) {
		return "session-token-not-valid"
	}
	text := fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", stamp, scope, sha256.Sum256([]byte(c.sigV4Text(names))))
	key := []byte("AWS4" + g.Secret)
	for _, step := range append([]string{stamp[:8]}, strings.Split(sigV4Scope, "/")...) {
		key = hmacOf(key, step)
	}
	if !equalSecrets(signature, hex.EncodeToString(hmacOf(key, text))) {
		return "signature-not-valid"
	}
	return ""
}

func hmacOf(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// sigV4Text is the canonical request: the path encoded once more than it was sent, the pairs of
// the query sorted, the named headers, and the hash of the body.
func (c call) sigV4Text(names string) string {
	var headers strings.Builder
	for name := range strings.SplitSeq(names, ";") {
		value := c.header.Get(name)
		if name == "host" {
			value = c.host
		}
		headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	path := strings.ReplaceAll(url.PathEscape(c.path), "%2F", "/")
	pairs := strings.Split(c.rawQuery, "&")
	slices.Sort(pairs)
	return fmt.Sprintf("%s\n%s\n%s\n%s\n%s\n%x", c.method, path, strings.Join(pairs, "&"), headers.String(), names, sha256.Sum256(c.body))
}

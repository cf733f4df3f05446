package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// Headers of Signature Version 4 of AWS.
const (
	awsDate    = "X-Amz-Date"
	awsBody    = "X-Amz-Content-Sha256"
	awsToken   = "X-Amz-Security-Token"
	awsScheme  = "AWS4-HMAC-SHA256"
	awsEnding  = "aws4_request"
	awsInstant = "20060102T150405Z"
)

// AWSRequest is a request as Signature Version 4 sees it.
type AWSRequest struct {
	Day   string // first part of the scope
	Scope string
	names string // of the signed headers
	text  string
}

// PrepareAWS puts the headers on a request that Signature Version 4 wants, and writes its query
// the one way that both ends write it. It works on r.
func (s Sign) PrepareAWS(r *Request, token string, now time.Time) AWSRequest {
	stamp := now.UTC().Format(awsInstant)
	sum := sha256.Sum256(r.Body)
	content := hex.EncodeToString(sum[:])
	r.Header.Set(awsDate, stamp)
	if token != "" {
		r.Header.Set(awsToken, token)
	}
	if s.signsBody() {
		r.Header.Set(awsBody, content)
	}
	target := *r.URL
	target.RawQuery = awsQuery(target.RawQuery)
	r.URL = &target
	names, headers := awsHeaders(r)
	canonical := strings.Join([]string{r.Method, s.awsPath(r.URL), r.URL.RawQuery, headers, names, content}, "\n")
	digest := sha256.Sum256([]byte(canonical))
	day := stamp[:8]
	scope := strings.Join([]string{day, s.Region, s.Service, awsEnding}, "/")
	return AWSRequest{Day: day, Scope: scope, names: names, text: strings.Join([]string{awsScheme, stamp, scope, hex.EncodeToString(digest[:])}, "\n")}
}

// signsBody reports that a service wants the hash of the body in a header of its own.
func (s Sign) signsBody() bool { return s.Service == "s3" || s.Service == "aoss" }

// SignedText returns what is signed.
func (a AWSRequest) SignedText() string { return a.text }

// KeySteps returns what the key is derived with, one after the other.
func (s Sign) KeySteps(a AWSRequest) []string { return []string{a.Day, s.Region, s.Service, awsEnding} }

// Authorization returns the value of the header.
func (a AWSRequest) Authorization(keyID, signature string) string {
	return awsScheme + " Credential=" + keyID + "/" + a.Scope + ", SignedHeaders=" + a.names + ", Signature=" + signature
}

// AWSKey returns the first key that is derived from.
func AWSKey(secret string) string { return "AWS4" + secret }

// awsHeaders returns the names and lines of the headers that are signed: the host, all of
// AWS, and the type of the body.
func awsHeaders(r *Request) (names, lines string) {
	values := map[string]string{"host": strings.ToLower(r.URL.Host)}
	for name, all := range r.Header {
		lower := strings.ToLower(name)
		if !strings.HasPrefix(lower, "x-amz-") && lower != "content-type" {
			continue
		}
		trimmed := make([]string, len(all))
		for i, value := range all {
			trimmed[i] = strings.Join(strings.Fields(value), " ")
		}
		values[lower] = strings.Join(trimmed, ",")
	}
	var sorted []string
	for name := range values {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	var out strings.Builder
	for _, name := range sorted {
		out.WriteString(name + ":" + values[name] + "\n")
	}
	return strings.Join(sorted, ";"), out.String()
}

// awsPath encodes what is encoded already once more, except for S3, whose paths are names of
// objects and stay as they are.
func (s Sign) awsPath(u *url.URL) string {
	plain := u.EscapedPath()
	if plain == "" {
		return "/"
	}
	if s.Service == "s3" {
		return plain
	}
	clean := path.Clean(plain)
	if strings.HasSuffix(plain, "/") && clean != "/" {
		clean += "/"
	}
	segments := strings.Split(clean, "/")
	for i, segment := range segments {
		segments[i] = awsEscape(segment)
	}
	return strings.Join(segments, "/")
}

// awsQuery sorts the pairs of a query and encodes them as AWS does: a blank is %20, whoever
// wrote it as a plus.
func awsQuery(raw string) string {
	if raw == "" {
		return ""
	}
	var pairs []string
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		pairs = append(pairs, awsEscape(unescaped(name))+"="+awsEscape(unescaped(value)))
	}
	slices.SortFunc(pairs, comparePairs)
	return strings.Join(pairs, "&")
}

// comparePairs compares names first: an equals sign comes behind some signs of a name.
func comparePairs(a, b string) int {
	nameA, valueA, _ := strings.Cut(a, "=")
	nameB, valueB, _ := strings.Cut(b, "=")
	if c := strings.Compare(nameA, nameB); c != 0 {
		return c
	}
	return strings.Compare(valueA, valueB)
}

// unescaped leaves a text as it is that nobody can decode.
func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// awsEscape encodes all but the unreserved signs of RFC 3986.
func awsEscape(text string) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.~", c) >= 0 {
			out.WriteByte(c)
			continue
		}
		out.WriteByte('%')
		out.WriteByte(digits[c>>4])
		out.WriteByte(digits[c&15])
	}
	return out.String()
}

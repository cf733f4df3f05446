package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/secret"
)

// The hooks that sign requests: a declared text with an HMAC, and Signature Version 4 of AWS.
const (
	SigningHMAC    = "hmac-sha256"
	SigningHMAC1   = "hmac-sha1"
	SigningHMAC512 = "hmac-sha512"
	SigningAWS     = "aws-sigv4"
)

// SigningHooks lists the names `signing` knows.
func SigningHooks() []string {
	return []string{SigningHMAC, SigningHMAC1, SigningHMAC512, SigningAWS}
}

// Sign is the `sign` part of a CUSTOM credential: which text is signed, and how
// key, time and signature travel.
type Sign struct {
	Key             secret.Ref `json:"key,omitzero" doc:"reference of the key"`
	KeyID           secret.Ref `json:"keyId,omitzero" doc:"reference of the name of the key, where the upstream asks for one"`
	KeyIDHeader     string     `json:"keyIdHeader,omitempty" doc:"header that carries the name of the key; without it the name and a colon precede the signature"`
	Parts           []string   `json:"parts,omitempty" enum:"METHOD,HOST,PATH,QUERY,TIMESTAMP,KEY_ID,BODY_SHA256" doc:"lines of the signed text, in this order; without it METHOD, PATH, QUERY, TIMESTAMP, BODY_SHA256"`
	Text            string     `json:"text,omitempty" doc:"the signed text instead of parts, with ${method}, ${host}, ${path}, ${query}, ${timestamp}, ${keyId}, ${bodySha256} and ${body}"`
	Value           string     `json:"value,omitempty" doc:"what the header carries after prefix, with ${signature}, ${keyId} and ${timestamp}; without it the signature, preceded by the name of the key if that has no header of its own"`
	Region          string     `json:"region,omitempty" doc:"aws-sigv4: region of the service, such as eu-central-1"`
	Service         string     `json:"service,omitempty" doc:"aws-sigv4: name of the service, such as execute-api"`
	Token           secret.Ref `json:"token,omitzero" doc:"aws-sigv4: reference of the session token that goes with a temporary key"`
	TimestampHeader string     `json:"timestampHeader,omitempty" doc:"header that carries the time that was signed (default X-Timestamp)"`
	TimestampFormat string     `json:"timestampFormat,omitempty" enum:"UNIX,UNIX_MILLIS,RFC3339,HTTP_DATE" doc:"how the time is written (default UNIX)"`
	Encoding        string     `json:"encoding,omitempty" enum:"HEX,BASE64" doc:"how the signature is written (default HEX)"`
}

// WithDefaults fills what the source left open.
func (s Sign) WithDefaults() Sign {
	if len(s.Parts) == 0 && s.Text == "" {
		s.Parts = []string{"METHOD", "PATH", "QUERY", "TIMESTAMP", "BODY_SHA256"}
	}
	setEmpty(&s.TimestampHeader, "X-Timestamp")
	setEmpty(&s.TimestampFormat, "UNIX")
	setEmpty(&s.Encoding, "HEX")
	return s
}

// Dated reports that the time is part of what is signed.
func (s Sign) Dated() bool {
	return slices.Contains(s.Parts, "TIMESTAMP") || slices.Contains(codesIn(s.Text), "timestamp") || slices.Contains(codesIn(s.Value), "timestamp")
}

func codesIn(text string) (out []string) {
	for _, match := range loginCode.FindAllStringSubmatch(text, -1) {
		out = append(out, match[1])
	}
	return out
}

// Timestamp writes the time of a signature.
func (s Sign) Timestamp(now time.Time) string {
	now = now.UTC()
	switch s.TimestampFormat {
	case "UNIX_MILLIS":
		return strconv.FormatInt(now.UnixMilli(), 10)
	case "RFC3339":
		return now.Format(time.RFC3339)
	case "HTTP_DATE":
		return now.Format("Mon, 02 Jan 2006 15:04:05 GMT")
	}
	return strconv.FormatInt(now.Unix(), 10)
}

// SignedText returns what is signed: the declared text, or one line per part. The parameters
// of the query are sorted as they are encoded, so that both ends write the same line
// whatever order they arrive in.
func (s Sign) SignedText(r *Request, timestamp, keyID string) string {
	pairs := strings.Split(r.URL.RawQuery, "&")
	slices.Sort(pairs)
	sum := sha256.Sum256(r.Body)
	values := map[string]string{
		"method": r.Method, "host": strings.ToLower(r.URL.Host), "path": r.URL.EscapedPath(), "query": strings.Join(pairs, "&"),
		"timestamp": timestamp, "keyId": keyID, "bodySha256": hex.EncodeToString(sum[:]), "body": string(r.Body),
	}
	if s.Text != "" {
		return fillText(s.Text, values)
	}
	lines := make([]string, len(s.Parts))
	for i, part := range s.Parts {
		lines[i] = values[signParts[part]]
	}
	return strings.Join(lines, "\n")
}

// signParts are the names of parts in a text.
var signParts = map[string]string{"METHOD": "method", "HOST": "host", "PATH": "path", "QUERY": "query", "TIMESTAMP": "timestamp", "KEY_ID": "keyId", "BODY_SHA256": "bodySha256"}

// SentValue returns what the header carries behind its prefix.
func (s Sign) SentValue(signature, timestamp, keyID string) string {
	switch {
	case s.Value != "":
		return fillText(s.Value, map[string]string{"signature": signature, "keyId": keyID, "timestamp": timestamp})
	case s.KeyIDHeader == "" && !s.KeyID.IsZero():
		return keyID + ":" + signature
	}
	return signature
}

func (s Sign) listComplaints(signing string) (out []Complaint) {
	say := func(when bool, key, message string) {
		if when {
			out = append(out, Complaint{key, message})
		}
	}
	say(s.Key.IsZero(), "sign.key", "a signing hook needs it")
	if signing == SigningAWS {
		return append(out, s.listAWSComplaints()...)
	}
	say(s.Region != "" || s.Service != "" || !s.Token.IsZero(), "sign", "region, service and token are for signing: "+SigningAWS)
	say(s.KeyID.IsZero() && slices.Contains(s.Parts, "KEY_ID"), "sign.keyId", "sign.parts has KEY_ID, but no key id is given")
	say(s.KeyID.IsZero() && s.KeyIDHeader != "", "sign.keyId", "sign.keyIdHeader needs it")
	say(s.KeyID.IsZero() && slices.Contains(append(codesIn(s.Text), codesIn(s.Value)...), "keyId"), "sign.keyId", "sign.text or sign.value has ${keyId}, but no key id is given")
	say(s.KeyIDHeader != "" && CheckHeaderName(s.KeyIDHeader) != nil, "sign.keyIdHeader", "E-NAME: is not a header that can be sent")
	say(CheckHeaderName(s.TimestampHeader) != nil, "sign.timestampHeader", "E-NAME: is not a header that can be sent")
	for i, part := range s.Parts {
		say(slices.Contains(s.Parts[:i], part), "sign.parts", part+" is listed twice")
	}
	return append(out, s.listTextComplaints()...)
}

// The names in ${…} of a signed text, and of what its header carries.
var (
	textNames  = []string{"method", "host", "path", "query", "timestamp", "keyId", "bodySha256", "body"}
	valueNames = []string{"signature", "keyId", "timestamp"}
)

func (s Sign) listTextComplaints() (out []Complaint) {
	say := func(when bool, key, message string) {
		if when {
			out = append(out, Complaint{key, message})
		}
	}
	unknown := func(text string, names []string) bool {
		return slices.ContainsFunc(codesIn(text), func(name string) bool { return !slices.Contains(names, name) })
	}
	say(s.Text != "" && len(s.Parts) > 0, "sign.text", "sign.parts is given too")
	say(unknown(s.Text, textNames), "sign.text", "knows ${"+strings.Join(textNames, "}, ${")+"} only")
	say(s.Text != "" && len(codesIn(s.Text)) == 0, "sign.text", "has nothing of the request in it: one signature would fit every request")
	say(unknown(s.Value, valueNames), "sign.value", "knows ${"+strings.Join(valueNames, "}, ${")+"} only")
	say(s.Value != "" && !slices.Contains(codesIn(s.Value), "signature"), "sign.value", "has no ${signature}")
	say(s.Value != "" && strings.ContainsFunc(s.Value, isControl), "sign.value", "has a line break or another character that no header takes")
	return out
}

var awsName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

func (s Sign) listAWSComplaints() (out []Complaint) {
	say := func(when bool, key, message string) {
		if when {
			out = append(out, Complaint{key, message})
		}
	}
	say(s.KeyID.IsZero(), "sign.keyId", "signing: "+SigningAWS+" needs it")
	say(!awsName.MatchString(s.Region), "sign.region", "must be the name of a region, such as eu-central-1")
	say(!awsName.MatchString(s.Service), "sign.service", "must be the name of a service, such as execute-api")
	fixed := s.Text != "" || s.Value != "" || s.KeyIDHeader != "" || !slices.Equal(s.Parts, Sign{}.WithDefaults().Parts)
	say(fixed, "sign", "what aws-sigv4 signs and sends is fixed: only key, keyId, token, region and service are declared")
	return out
}

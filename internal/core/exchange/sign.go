package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/secret"
)

// SigningHMAC names the hook that signs requests with HMAC-SHA256.
const SigningHMAC = "hmac-sha256"

// SigningHooks lists the names `signing` knows.
func SigningHooks() []string { return []string{SigningHMAC} }

// Sign is the `sign` part of a CUSTOM credential: which text is signed, and how
// key, time and signature travel.
type Sign struct {
	Key             secret.Ref `json:"key,omitzero" doc:"reference of the key"`
	KeyID           secret.Ref `json:"keyId,omitzero" doc:"reference of the name of the key, where the upstream asks for one"`
	KeyIDHeader     string     `json:"keyIdHeader,omitempty" doc:"header that carries the name of the key; without it the name stands before the signature, with a colon"`
	Parts           []string   `json:"parts,omitempty" enum:"METHOD,HOST,PATH,QUERY,TIMESTAMP,KEY_ID,BODY_SHA256" doc:"lines of the signed text, in this order; without it METHOD, PATH, QUERY, TIMESTAMP, BODY_SHA256"`
	TimestampHeader string     `json:"timestampHeader,omitempty" doc:"header that carries the time that was signed (default X-Timestamp)"`
	TimestampFormat string     `json:"timestampFormat,omitempty" enum:"UNIX,UNIX_MILLIS,RFC3339,HTTP_DATE" doc:"how the time is written (default UNIX)"`
	Encoding        string     `json:"encoding,omitempty" enum:"HEX,BASE64" doc:"how the signature is written (default HEX)"`
}

// WithDefaults fills what the source left open.
func (s Sign) WithDefaults() Sign {
	if len(s.Parts) == 0 {
		s.Parts = []string{"METHOD", "PATH", "QUERY", "TIMESTAMP", "BODY_SHA256"}
	}
	setEmpty(&s.TimestampHeader, "X-Timestamp")
	setEmpty(&s.TimestampFormat, "UNIX")
	setEmpty(&s.Encoding, "HEX")
	return s
}

// Dated reports that the time is part of what is signed.
func (s Sign) Dated() bool { return slices.Contains(s.Parts, "TIMESTAMP") }

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

// Text returns what is signed: one line per part. The parameters of the query
// are sorted as they are encoded, so that both ends write the same line
// whatever order they arrive in.
func (s Sign) Text(r *Request, timestamp, keyID string) string {
	lines := make([]string, len(s.Parts))
	for i, part := range s.Parts {
		switch part {
		case "METHOD":
			lines[i] = r.Method
		case "HOST":
			lines[i] = strings.ToLower(r.URL.Host)
		case "PATH":
			lines[i] = r.URL.EscapedPath()
		case "QUERY":
			pairs := strings.Split(r.URL.RawQuery, "&")
			slices.Sort(pairs)
			lines[i] = strings.Join(pairs, "&")
		case "TIMESTAMP":
			lines[i] = timestamp
		case "KEY_ID":
			lines[i] = keyID
		case "BODY_SHA256":
			sum := sha256.Sum256(r.Body)
			lines[i] = hex.EncodeToString(sum[:])
		}
	}
	return strings.Join(lines, "\n")
}

func (s Sign) listComplaints() (out []Complaint) {
	say := func(when bool, key, message string) {
		if when {
			out = append(out, Complaint{key, message})
		}
	}
	say(s.Key.IsZero(), "sign.key", "a signing hook needs it")
	say(s.KeyID.IsZero() && slices.Contains(s.Parts, "KEY_ID"), "sign.keyId", "sign.parts has KEY_ID, and there is none")
	say(s.KeyID.IsZero() && s.KeyIDHeader != "", "sign.keyId", "sign.keyIdHeader is there to carry it")
	say(s.KeyIDHeader != "" && CheckHeaderName(s.KeyIDHeader) != nil, "sign.keyIdHeader", "E-NAME: is not a header that can be sent")
	say(CheckHeaderName(s.TimestampHeader) != nil, "sign.timestampHeader", "E-NAME: is not a header that can be sent")
	for i, part := range s.Parts {
		say(slices.Contains(s.Parts[:i], part), "sign.parts", part+" stands there twice")
	}
	return out
}

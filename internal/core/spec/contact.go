package spec

import (
	"encoding/json"
	"strings"
)

// contactName is how templates name the address of whoever runs the source.
const contactName = "contact.email"

// NoContact warns of requests that could tell the upstream whom to write to and do
// not: many upstreams serve those who do faster, and block the others first. It is
// no degradation of the source, so plans do not hold it.
func (s Snapshot) NoContact() (Warning, bool) {
	for at := &s; at != nil; at = at.Detail {
		if at.Contact.Email == "" && at.asksContact() {
			return Warning{"W-NO-CONTACT", "requests can carry an address that the upstream may write to, and there is none: " +
				"set PATRA_CONTACT=you@example.org, or contact: {email: you@example.org} in patra.yaml"}, true
		}
	}
	return Warning{}, false
}

// asksContact reports that a template of the request has a place for the address.
func (s Snapshot) asksContact() bool {
	text, err := json.Marshal([]any{s.HTTP.Headers, s.Request, s.Params})
	return err == nil && strings.Contains(string(text), contactName)
}

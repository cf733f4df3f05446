package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/window"
)

// RenderedRequest is one request that was not sent.
type RenderedRequest struct {
	Source     string            `json:"source"`
	Origin     string            `json:"origin"`
	Endpoint   string            `json:"endpoint"`
	Operation  string            `json:"operation"`
	Window     window.Window     `json:"window,omitzero"`
	IDs        []string          `json:"ids,omitempty"`
	Expression string            `json:"expression,omitempty"`
	Query      string            `json:"query"`
	Params     map[string]string `json:"params"`
	Prototype  string            `json:"exprProtoHash"`
	Credential *CredentialUse    `json:"credential"`
	Method     string            `json:"method"`
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers"`
	Body       string            `json:"body,omitempty"`
}

// CredentialUse says which credential requests carry. It holds references and
// whether they lead to something, never a value (I12).
type CredentialUse struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	In       string   `json:"in"`
	Field    string   `json:"field"` // header or parameter
	From     []string `json:"from"`
	State    string   `json:"state"`
	Required bool     `json:"required"`
	// OneOf are the members of a pool, of which each request carries one.
	OneOf []*CredentialUse `json:"oneOf,omitempty"`
	// Also are those that requests carry beside it.
	Also []*CredentialUse `json:"also,omitempty"`
}

// States of a secret. What a command would print is known only to the command.
const (
	SecretPresent = "present"
	SecretAbsent  = "absent"
	SecretShort   = "present, but so short that words which contain it are garbled in what is stored: get a longer one"
	SecretByExec  = "printed by a command"
)

func (u *CredentialUse) String() string {
	if u == nil {
		return "none: requests are anonymous"
	}
	text := fmt.Sprintf("%s (%s in %s %s, from %s, %s)", u.Name, u.Type, u.In, u.Field, strings.Join(u.From, " and "), u.State)
	if len(u.OneOf) > 0 {
		text = u.poolText()
	}
	if u.State == SecretAbsent && !u.Required {
		text += ": optional, so requests are anonymous"
	}
	for _, other := range u.Also {
		text += "; " + strings.Replace(other.String(), ": optional, so requests are anonymous", ": optional, so requests go without it", 1)
	}
	return text
}

// poolText names each member with its own state: a pool serves while any of them is there.
func (u *CredentialUse) poolText() string {
	var members []string
	for _, m := range u.OneOf {
		members = append(members, strings.Replace(m.String(), ": optional, so requests are anonymous", "", 1))
	}
	return fmt.Sprintf("%s (POOL), one of %s", u.Name, strings.Join(members, ", "))
}

// AskWish is which request of a source file is looked at.
type AskWish struct {
	Code      string     // the source that the file must be of; empty: any
	Endpoint  string     // empty: the only one that is searched
	Operation string     // empty: HARVEST, or what the endpoint serves
	From, To  *time.Time // nil: of the newest window that is safe to read
	IDs       []string   // of an endpoint that is asked by id
}

// TriedPage is what an upstream answered to one request, and what a run would make of it.
type TriedPage struct {
	Endpoint string
	Request  exchange.RequestDigest
	Response *exchange.ResponseDigest // nil: none came
	Seen     int
	Mapped   int
	Rejected int
	Paging   string // what paging made of it; empty: it could not be read
	Records  []TriedRecord
	Rejects  []string
	Trouble  string // why a run could not go on
	Detail   *TriedPage
}

// TriedRecord is an item that a run would store.
type TriedRecord struct {
	ID, Fields string
}

// SecretUse is a secret that a source names: a reference, where its value goes, and whether
// it is there. It never holds the value (I12).
type SecretUse struct {
	Reference string `json:"reference"`
	Host      string `json:"host"`
	State     string `json:"state"`
	Agreed    bool   `json:"agreed"` // the installation agreed that it is sent there
}

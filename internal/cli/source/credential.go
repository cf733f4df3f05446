package source

import (
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/secret"
)

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
}

// States of a secret. What a command would print is known only to the command.
const (
	SecretPresent = "present"
	secretAbsent  = "absent"
	secretShort   = "present, but so short that words which contain it are garbled in what is stored: get a longer one"
	secretByExec  = "printed by a command"
)

func useOf(e *term.Env, auth exchange.Auth, c exchange.Credential) *CredentialUse {
	if auth.Credential == "" {
		return nil
	}
	use := &CredentialUse{Name: auth.Credential, Type: c.Type, In: c.In, Field: c.Name, State: SecretPresent, Required: *auth.Required}
	for _, ref := range c.References() {
		use.From = append(use.From, ref.String())
		if ref != c.Username && ref != c.ClientID && ref != c.Sign.KeyID && e.Installed.ShortSecret(ref) && use.State == SecretPresent {
			use.State = secretShort
		}
		if state := presenceText(e, ref); state != SecretPresent && use.State != secretAbsent {
			use.State = state
		}
	}
	return use
}

func presenceText(e *term.Env, ref secret.Ref) string {
	if scheme, _ := ref.Split(); scheme == "exec" {
		return secretByExec
	}
	if why := e.Installed.Overlooks(ref); why != "" {
		return "not looked at: " + why
	}
	if e.Installed.HasSecret(ref) {
		return SecretPresent
	}
	return secretAbsent
}

func (u *CredentialUse) String() string {
	if u == nil {
		return "none: requests are anonymous"
	}
	text := fmt.Sprintf("%s (%s in %s %s, from %s, %s)", u.Name, u.Type, u.In, u.Field, strings.Join(u.From, " and "), u.State)
	if u.State == secretAbsent && !u.Required {
		text += ": optional, so requests are anonymous"
	}
	return text
}

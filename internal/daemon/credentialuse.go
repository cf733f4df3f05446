package daemon

import (
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/view"
)

// CredentialUse says which credential requests carry and whether it is there; nil where they
// carry none. No command is run for it (SECURITY R15).
func (in Installed) CredentialUse(s registry.Settings) *view.CredentialUse {
	names := s.Auth.Names()
	if len(names) == 0 {
		return nil
	}
	use := in.useOf(names[0], s.Credential, *s.Auth.Required)
	for _, m := range s.Pool {
		use.OneOf = append(use.OneOf, in.useOf(m.Name, m.Credential, *s.Auth.Required))
	}
	for _, f := range s.Further {
		use.Also = append(use.Also, in.useOf(f.Name, f.Credential, *s.Auth.Required && !f.Optional))
	}
	return use
}

func (in Installed) useOf(name string, c exchange.Credential, required bool) *view.CredentialUse {
	use := &view.CredentialUse{Name: name, Type: c.Type, In: c.In, Field: c.Name, State: view.SecretPresent, Required: required}
	for _, ref := range c.References() {
		use.From = append(use.From, ref.String())
		if ref != c.Username && ref != c.ClientID && ref != c.JWT.KeyID && ref != c.Sign.KeyID && in.ShortSecret(ref) && use.State == view.SecretPresent {
			use.State = view.SecretShort
		}
		if state := in.presenceText(ref); state != view.SecretPresent && use.State != view.SecretAbsent {
			use.State = state
		}
	}
	return use
}

func (in Installed) presenceText(ref secret.Ref) string {
	if scheme, _ := ref.Split(); scheme == "exec" {
		return view.SecretByExec
	}
	if why := in.Overlooks(ref); why != "" {
		return "not looked at: " + why
	}
	if in.HasSecret(ref) {
		return view.SecretPresent
	}
	return view.SecretAbsent
}

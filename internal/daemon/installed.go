package daemon

import (
	"slices"
	"sync"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/driver/installation"
	"github.com/patra-ingest/patra/internal/driver/secrets"
)

// Installed is what the person who runs this machine decided for all of it. The
// zero value allows nothing that a source file asks for, bundled sources apart.
type Installed struct {
	config.Config
	File string // patra.yaml; empty: there is none
	// ContactFrom is where the contact address was given, for messages about it.
	ContactFrom string
	agreed      installation.Agreed
}

// ReadInstalled finds patra.yaml: the one that is named, else the user's, else the
// machine's. The working directory is not looked at, see installation.
func ReadInstalled(named string) (Installed, error) {
	found, err := installation.Read(named)
	if err != nil {
		return Installed{}, err
	}
	in := Installed{Config: found.Config, File: found.File}
	if in.Contact.Email != "" {
		in.ContactFrom = found.File
	}
	if agreed, err := installation.OpenAgreed(); err == nil { // without a home nothing can be agreed to there
		in.agreed = agreed
	}
	return in, nil
}

// ConfigFile returns where to write what this machine allows: the file that was read,
// else where it is looked for first.
func (in Installed) ConfigFile() string {
	if in.File != "" {
		return in.File
	}
	return installation.Places()[0]
}

// limitedSecrets reads secrets within what this machine allows.
func (in Installed) limitedSecrets() secrets.Limited { return secrets.Limited{Policy: in.Trust} }

// HasSecret reports whether a reference leads to something. A command is not run
// to find out, a file is not read, and one outside of the allowed folders is not
// looked at.
func (in Installed) HasSecret(ref secret.Ref) bool {
	_, most := in.limitedSecrets().Lengths(ref)
	return most > 0
}

// Overlooks says why a reference is not looked at on this machine; empty if it is.
func (in Installed) Overlooks(ref secret.Ref) string {
	if refused := in.limitedSecrets().Refuses(trust.Use{Ref: trust.OfSecret(ref)}); refused != nil {
		return string(refused.Why)
	}
	return ""
}

// ShortSecret tells whether a reference leads to a value that may occur in what
// an upstream sends, and would be hidden there. Of a file only the size is looked at.
func (in Installed) ShortSecret(ref secret.Ref) bool {
	least, most := in.limitedSecrets().Lengths(ref)
	return secret.Garbles(least) || secret.Garbles(most)
}

// FillSettings adds what the installation decides where the source does not: whom the
// upstream may write to, and what goes first.
func (in Installed) FillSettings(r *registry.Resolved) {
	if in.Contact.Email != "" {
		r.FillContact(in.Contact.Email, in.ContactFrom)
	}
	r.FillPriority(in.Work.Priority.Of(ingest.Operation(r.Operation)), in.File)
}

// Uses lists what a source wants of this machine, at any endpoint and operation.
func Uses(src *registry.Source) []trust.Use {
	var out []trust.Use
	for name := range src.Endpoints {
		for _, op := range src.Operates(name) {
			compiled, err := Compile(src, name, ingest.Operation(op), nil)
			if err == nil { // what cannot be compiled cannot run either
				out = append(out, trust.Of(compiled.Snapshot)...)
			}
		}
	}
	return trust.Sorted(out)
}

// bundledUses returns what the bundled sources send to their own hosts: whoever runs
// the program trusts what comes with it. What is stored here did not come with it.
func bundledUses() []trust.Use {
	var out []trust.Use
	for _, code := range catalog.List() {
		if src, err := Bundled(code); err == nil && len(src.Credentials) > 0 {
			out = append(out, Uses(src)...)
		}
	}
	return slices.DeleteFunc(out, func(u trust.Use) bool { return u.Ref.IsRecords() })
}

// bundled answers for a use; the list is made when it is first asked for.
type bundled struct {
	once sync.Once
	uses []trust.Use
}

func (b *bundled) hasUse(u trust.Use) bool {
	b.once.Do(func() { b.uses = bundledUses() })
	return slices.Contains(b.uses, u)
}

// TrustWarner names what sources want of this machine; see trust.Warnings.
func TrustWarner() func(spec.Snapshot) []spec.Warning {
	known := new(bundled)
	return func(s spec.Snapshot) []spec.Warning { return trust.Warnings(s, known.hasUse) }
}

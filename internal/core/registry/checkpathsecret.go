package registry

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// secretAlone is the place of a secret as a path may have it: nothing is made of it.
var secretAlone = regexp.MustCompile(`\$\{\s*secret\.[A-Za-z_][A-Za-z0-9_]*\s*\}`)

// checkPathSecret refuses a place for a secret that no credential fills, and a credential
// without its place: the request would be sent with a mask in its path, or anonymously.
func (r *Resolved) checkPathSecret() (out Problems) {
	inPath := map[string]bool{}
	for i, name := range r.Auth.Names() {
		plain, _ := exchange.CutOptional(name)
		if c, ok := r.origin.Credentials[plain]; ok && c.In == "PATH" {
			inPath[plain] = i > 0 && plain != name
		}
	}
	placed := map[string]bool{}
	for _, t := range r.listTemplates() {
		if t.path.placeName() != "request.path" {
			continue
		}
		text := r.Request.Path
		if t.later {
			text = r.Request.Next.Path
		}
		if whole := secretAlone.ReplaceAllString(text, ""); len(whole) < len(text) || slices.ContainsFunc(t.names, isSecretVariable) {
			if rest, err := tmpl.CompileWith(whole, r.Templates); err != nil || slices.ContainsFunc(rest.Names(), isSecretVariable) {
				out = append(out, r.problemAt(t.path, "E-AUTH-PATH: ${secret.NAME} stands alone in its ${…}, and NAME has letters, digits and _ only", "rename the credential, or take the functions away"))
			}
		}
		for _, name := range t.names {
			named := tmpl.SecretNamed(name)
			if named == "" {
				continue
			}
			placed[named] = true
			if optional, ok := inPath[named]; !ok || optional || !*r.Auth.Required {
				out = append(out, r.problemAt(t.path, fmt.Sprintf("E-AUTH-PATH: ${secret.%s} needs the credential %q with in: PATH, named in auth and not optional", named, named),
					"without its secret the request would be one for another address"))
			}
		}
	}
	for _, name := range sortedKeys(inPath) {
		if !placed[name] {
			out = append(out, r.problemAt(Path{"request", "path"}, fmt.Sprintf("E-AUTH-PATH: credential %q travels in the path, and the path has no ${secret.%s}", name, name), ""))
		}
	}
	return out
}

func isSecretVariable(name string) bool { return tmpl.SecretNamed(name) != "" }

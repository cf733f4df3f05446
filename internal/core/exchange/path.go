package exchange

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// compilePath escapes the literal text once. What is left to rendering is the
// values, each of which stays within its segment.
func compilePath(text string, c tmpl.Config) (*tmpl.Template, error) {
	compiled, err := tmpl.CompileWith(text, c)
	if err != nil {
		return nil, err
	}
	escaped := compiled.MapLiterals(func(literal string) string {
		if strings.ContainsAny(literal, "?#") {
			err = errors.New("a path holds no ? and no #: use request.query")
		}
		return (&url.URL{Path: "/" + literal}).EscapedPath()[1:]
	})
	if err != nil {
		return nil, err
	}
	sample, err := escaped.Sample("x", appendSegment)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(string(sample), "//") {
		return nil, errors.New("starts with //, which names another host")
	}
	return escaped, refuseClimbing(string(sample))
}

// appendSegment writes a value of a path. An empty one is refused: it would ask
// for the list where one thing of it was meant.
func appendSegment(dst []byte, value any) ([]byte, error) {
	if _, place := value.(tmpl.SecretPlace); place {
		return append(dst, secret.Mask...), nil
	}
	text, err := tmpl.Text(value)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, errors.New("a value is empty")
	}
	if slices.Contains(strings.Split(text, "/"), "..") {
		return nil, fmt.Errorf("the value %.60q climbs up the path", text)
	}
	return append(dst, url.PathEscape(text)...), nil
}

// FillPath returns the address with a secret in the place that its path has for one. The
// place is what secrets are replaced by wherever they are hidden: so an address that an
// answer repeated, and that was masked since, has it too. In a value that a template gave
// its brackets are encoded, and it is no place.
func FillPath(u *url.URL, value secret.Text) *url.URL {
	escaped := strings.ReplaceAll(u.EscapedPath(), secret.Mask, url.PathEscape(value.Reveal()))
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return u
	}
	out := *u
	out.Path, out.RawPath = plain, escaped
	return &out
}

// refuseClimbing looks at segments as a server may read them: %2e is a dot.
func refuseClimbing(escaped string) error {
	for segment := range strings.SplitSeq(escaped, "/") {
		if plain, err := url.PathUnescape(segment); err != nil || plain == "." || plain == ".." {
			return fmt.Errorf("%.60q climbs out of the base URL", escaped)
		}
	}
	return nil
}

// renderTarget returns the URL of a request without its query.
func (r *Renderer) renderTarget(vars *tmpl.Vars) (*url.URL, error) {
	path, err := r.renderPath(vars)
	if err != nil {
		return nil, err
	}
	out := *r.base
	out.RawPath = strings.TrimSuffix(r.base.EscapedPath(), "/") + path
	if out.Path, err = url.PathUnescape(out.RawPath); err != nil {
		return nil, fmt.Errorf("request.path: %w", err)
	}
	return &out, nil
}

// renderPath returns the escaped path below the base URL, with its leading
// slash.
func (r *Renderer) renderPath(vars *tmpl.Vars) (string, error) {
	rendered, _, err := r.path.Append(nil, vars, appendSegment)
	if err == nil {
		err = refuseClimbing(string(rendered))
	}
	if err != nil {
		return "", fmt.Errorf("request.path: %w", err)
	}
	return "/" + strings.TrimPrefix(string(rendered), "/"), nil
}

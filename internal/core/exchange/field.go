package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// field is one named value of a request: a query parameter, a header or a form
// field. It comes from a template, or from a parameter of the run.
type field struct {
	name     string
	where    string         // for messages: request.query.rows, params.term
	template *tmpl.Template // a parameter's default; nil if it has none
	param    *param
	further  bool // not the first value of its parameter
	optional bool // left out when it is empty, whatever the null policy
}

// param is a field that takes the value of a standard key.
type param struct {
	key       string
	required  bool
	transform func(value string) (string, error) // nil without one
}

// queryKey is the standard key of the query text.
const queryKey = "query"

func byName(a, b field) int { return cmp.Compare(a.name, b.name) }

// compilePairs compiles parameters, of which one may have several values.
func compilePairs(where string, pairs map[string]Texts, c tmpl.Config) ([]field, error) {
	var out []field
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		for i, text := range pairs[name] {
			f := field{where: where + "." + name, further: i > 0}
			f.name, f.optional = cutOptional(name)
			var err error
			if f.template, err = tmpl.CompileWith(text, c); err != nil {
				return nil, fmt.Errorf("%s: %w", f.where, f.hideValue(err))
			}
			out = append(out, f)
		}
	}
	return out, nil
}

func compileTexts(where string, texts map[string]string, c tmpl.Config) ([]field, error) {
	var out []field
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		f := field{where: where + "." + name}
		f.name, f.optional = cutOptional(name)
		var err error
		if f.template, err = tmpl.CompileWith(texts[name], c); err != nil {
			return nil, fmt.Errorf("%s: %w", f.where, f.hideValue(err))
		}
		out = append(out, f)
	}
	return out, nil
}

// compileParams sorts the parameters of the run by their place.
func compileParams(p Parts) (map[string][]field, error) {
	out := map[string][]field{}
	for _, key := range slices.Sorted(maps.Keys(p.Params)) {
		given := p.Params[key]
		where := "params." + key
		if given.Name == "" {
			return nil, fmt.Errorf("%s.name: is missing", where)
		}
		place := cmp.Or(given.In, "QUERY")
		if !slices.Contains([]string{"QUERY", "HEADER", "BODY"}, place) {
			return nil, fmt.Errorf("%s.in: %q is none of QUERY, HEADER, BODY", where, given.In)
		}
		f := field{name: given.Name, where: where, param: &param{key: key, required: given.Required}}
		if given.Default != "" {
			var err error
			if f.template, err = tmpl.CompileWith(given.Default, p.Templates); err != nil {
				return nil, fmt.Errorf("%s.default: %w", where, f.hideValue(err))
			}
		}
		if given.Transform != "" {
			if p.Transform == nil {
				return nil, fmt.Errorf("%s.transform: %s is not available here", where, given.Transform)
			}
			f.param.transform = func(value string) (string, error) { return p.Transform(given.Transform, value) }
		}
		out[place] = append(out[place], f)
	}
	return out, nil
}

// renderValue renders a field. The null policy speaks of templates: a parameter that
// nobody emitted and that has no default is simply not there.
func (f *field) renderValue(vars *tmpl.Vars, policy tmpl.NullPolicy) (text string, present bool, err error) {
	if f.param == nil {
		text, present, err = f.renderText(vars)
	} else {
		text, present, err = f.givenValue(vars)
	}
	switch {
	case err != nil:
		return "", false, err
	case f.optional && text == "":
		return "", false, nil
	case present || f.template == nil || policy == tmpl.Omit:
		return text, present, nil
	case policy == tmpl.Fail:
		return "", false, fmt.Errorf("%s: %s yields nothing, and templates.nullPolicy is FAIL", f.where, f.shownName())
	}
	return "", true, nil
}

func (f *field) renderText(vars *tmpl.Vars) (string, bool, error) {
	out, present, err := f.template.Append(nil, vars, tmpl.AppendText)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", f.where, f.hideValue(err))
	}
	return string(out), present, nil
}

// errUnshown replaces errors that repeat the text of a template.
var errUnshown = errors.New("the template cannot be used; its text is not repeated here, because its name is that of a secret")

func (f *field) hideValue(err error) error {
	if SecretName(f.name) {
		return errUnshown
	}
	return err
}

func (f *field) shownName() string {
	if SecretName(f.name) {
		return "the template"
	}
	return strconv.Quote(f.template.String())
}

// givenValue returns the value of a standard key, or its default.
func (f *field) givenValue(vars *tmpl.Vars) (value string, present bool, err error) {
	value = f.emittedValue(vars)
	if value == "" && f.template != nil {
		if value, _, err = f.renderText(vars); err != nil {
			return "", false, err
		}
	}
	if value == "" {
		if f.param.required {
			return "", false, fmt.Errorf("%s: the request needs %q, and nothing was given for it", f.where, f.name)
		}
		return "", false, nil
	}
	if f.param.transform != nil {
		if value, err = f.param.transform(value); err != nil {
			return "", false, fmt.Errorf("%s: %w", f.where, err)
		}
	}
	return value, value != "", nil
}

func (f *field) emittedValue(vars *tmpl.Vars) string {
	if f.param.key == queryKey {
		return vars.Query
	}
	return vars.Params[f.param.key]
}

// aboutPaging reports that a field says where we are or who we are, not what is
// selected: its template reads the page or the contact and nothing else.
func (f *field) aboutPaging(vars *tmpl.Vars) bool {
	if f.template == nil || f.param != nil && f.emittedValue(vars) != "" {
		return false
	}
	names := f.template.Names()
	other := func(name string) bool {
		return !strings.HasPrefix(name, "page.") && !strings.HasPrefix(name, "contact.")
	}
	return len(names) > 0 && !slices.ContainsFunc(names, other)
}

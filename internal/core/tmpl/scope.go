package tmpl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/document"
)

// site is where a template stands; it decides what the template may name.
type site string

const (
	requestScope site = "a request"
	atomScope    site = "a query rule"
	itemScope    site = "an output field"
)

// scope is what one template may name while it is compiled.
type scope struct {
	place     site
	config    Config
	variables map[string]any
	paths     []document.Path // item templates only: what jsonPath reads
}

func newScope(p site, c Config) *scope {
	variables := map[site]map[string]any{requestScope: requestVariables, atomScope: atomVariables, itemScope: itemVariables}
	return &scope{place: p, config: c, variables: variables[p]}
}

// sampleOf gives a value of the variable's type.
func (s *scope) sampleOf(name string) (any, error) {
	if name == nowName {
		return nil, fmt.Errorf("unknown name now: write now()")
	}
	if sample, ok := s.variables[name]; ok {
		return sample, nil
	}
	if NamesSector(name) && s.place != atomScope {
		return "", nil
	}
	for _, prefix := range []string{paramPrefix, secretPrefix} {
		if key, found := strings.CutPrefix(name, prefix); found && s.place == requestScope && key != "" && !strings.Contains(key, ".") {
			return "", nil
		}
	}
	known := slices.Sorted(maps.Keys(s.variables))
	known = slices.DeleteFunc(known, func(n string) bool { return n == nowName })
	if s.place == itemScope {
		known = append(known, sectorPrefix+"…")
		return nil, fmt.Errorf("unknown name %s: what the item holds is read with jsonPath('$.%s'); besides it %s knows %s", name, name, s.place, strings.Join(known, ", "))
	}
	if s.place == requestScope {
		known = append(known, paramPrefix+"…", sectorPrefix+"…", secretPrefix+"…")
	}
	return nil, unknownName("name", name, known, "names of "+string(s.place))
}

// functionNamed finds a function the template may call.
func (s *scope) functionNamed(name string) (*function, error) {
	f := findFunction(name)
	var err error
	switch {
	case f == nil:
		err = unknownName("function", name, s.callableNames(), closedList)
	case !f.allowedIn(s.place):
		err = fmt.Errorf("function %s is not available in %s", name, s.place)
	case len(s.config.Functions) > 0 && !slices.Contains(s.config.Functions, name):
		err = fmt.Errorf("function %s is not among templates.functions of this source: %s", name, strings.Join(s.config.Functions, ", "))
	}
	if err != nil {
		return nil, &FunctionError{name, err}
	}
	return f, nil
}

func (s *scope) callableNames() []string {
	if len(s.config.Functions) > 0 {
		return s.config.Functions
	}
	return functionNames()
}

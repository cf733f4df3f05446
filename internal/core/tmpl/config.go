package tmpl

import (
	"fmt"
	"slices"
)

// NullPolicy says what becomes of a request parameter whose template yields nothing (§4.8).
type NullPolicy string

// Null policies.
const (
	Omit  NullPolicy = "OMIT"
	Empty NullPolicy = "EMPTY"
	Fail  NullPolicy = "FAIL"
)

// Config is the `templates` section of a source.
type Config struct {
	Functions  []string   `json:"functions,omitempty" doc:"the only functions the templates of this source may use (default all)"`
	NullPolicy NullPolicy `json:"nullPolicy,omitempty" enum:"OMIT,EMPTY,FAIL" doc:"a parameter whose template yields nothing is left out, sent empty, or an error (default OMIT)"`
}

// WithDefaults fills what the source left open.
func (c Config) WithDefaults() Config {
	if c.NullPolicy == "" {
		c.NullPolicy = Omit
	}
	return c
}

// Validate names the field that is wrong.
func (c Config) Validate() error {
	names := functionNames()
	for _, name := range c.Functions {
		if !slices.Contains(names, name) {
			return fmt.Errorf("templates.functions: %w", unknownName("function", name, names, closedList))
		}
	}
	if c.NullPolicy != "" && !slices.Contains([]NullPolicy{Omit, Empty, Fail}, c.NullPolicy) {
		return fmt.Errorf("templates.nullPolicy: %q is none of OMIT, EMPTY, FAIL", c.NullPolicy)
	}
	return nil
}

package extract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mostNamed is how many of the values that a field may have a refusal names.
const mostNamed = 12

// illegalField says that a field has a value that the source does not allow.
type illegalField struct {
	field
	value string
}

func (f illegalField) Error() string {
	named := strings.Join(f.allowed[:min(len(f.allowed), mostNamed)], ", ")
	if more := len(f.allowed) - mostNamed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("output field %q has %.60q, and response.allowed has %s", f.name, f.value, named)
}

// checkAllowed refuses lists of values for fields that do not exist, and empty ones: they would
// refuse every item.
func (c Config) checkAllowed() error {
	for _, name := range slices.Sorted(maps.Keys(c.Allowed)) {
		if _, known := c.Fields[name]; !known {
			return fmt.Errorf("response.allowed: %q is not among response.fields", name)
		}
		if len(c.Allowed[name]) == 0 {
			return fmt.Errorf("response.allowed: %q has no value: every item would be quarantined", name)
		}
	}
	return nil
}

// findIllegal returns a value that the field may not have. Of a list every value counts, and what is no
// text is compared as JSON writes it.
func (f *field) findIllegal(raw []byte) (value string, is bool) {
	if f.allowed == nil {
		return "", false
	}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(trimmed, &list); err != nil {
			return string(trimmed), true
		}
		for _, one := range list {
			if value, is := f.findIllegal(one); is {
				return value, true
			}
		}
		return "", false
	}
	value = string(bytes.TrimSpace(raw))
	if strings.HasPrefix(value, `"`) {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return value, true
		}
		value = text
	}
	return value, !slices.Contains(f.allowed, value)
}

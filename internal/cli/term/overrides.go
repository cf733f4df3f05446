package term

import (
	"github.com/patra-ingest/patra/internal/core/registry"
)

func ParseOverrides(set []string) ([]registry.Override, error) {
	var out []registry.Override
	for _, text := range set {
		o, err := registry.ParseOverride(text)
		if err != nil {
			return nil, Usagef("--set: %w", err) // it names the path; the value may be a secret
		}
		out = append(out, o)
	}
	return out, nil
}

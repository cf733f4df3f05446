package query

import (
	"fmt"
	"slices"
	"strings"
)

// ListSeparator stands between the values that several conditions wrote to one
// standard key, until a join transform replaces it.
const ListSeparator = "||"

// listTransforms returns the list of codes: one line each.
func listTransforms() map[string]func(string) (string, error) {
	return map[string]func(string) (string, error){
		"IDENTITY":    func(v string) (string, error) { return v, nil },
		"LOWER":       func(v string) (string, error) { return strings.ToLower(v), nil },
		"UPPER":       func(v string) (string, error) { return strings.ToUpper(v), nil },
		"LIST_JOIN":   joinList,
		"FILTER_JOIN": joinList,
	}
}

// minusOneDay is a code of reg_transform that no source may use. A date does
// not show whether it is still exclusive, and a day taken from an inclusive one
// is a day that is never harvested.
const minusOneDay = "TO_EXCLUSIVE_MINUS_1D"

// Transforms returns the codes a source may use to change the values of
// parameters.
func Transforms() []string {
	var out []string
	for code := range listTransforms() {
		out = append(out, code)
	}
	slices.Sort(out)
	return out
}

// CheckTransform says why a source may not use a code, and what to write
// instead. No code is IDENTITY.
func CheckTransform(code string) error {
	switch _, known := listTransforms()[code]; {
	case known || code == "":
		return nil
	case code == minusOneDay:
		return fmt.Errorf("transform %s would take a day off a bound that is inclusive already: say which bound the upstream wants with filter.to: INCLUSIVE or EXCLUSIVE, or with bounds: INCLUSIVE or HALF_OPEN of the rule", code)
	}
	return fmt.Errorf("transform %q is unknown: use %s", shortenText(code), strings.Join(Transforms(), ", "))
}

// Transform applies a transform.
func Transform(code, value string) (string, error) {
	if err := CheckTransform(code); err != nil {
		return "", err
	}
	if code == "" {
		return value, nil
	}
	out, err := listTransforms()[code](value)
	if err != nil {
		return "", fmt.Errorf("transform %s: %w", code, err)
	}
	return out, nil
}

func joinList(v string) (string, error) { return strings.ReplaceAll(v, ListSeparator, ","), nil }

package query

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ListSeparator stands between the values that several conditions wrote to one
// standard key, until a join transform replaces it.
const ListSeparator = "||"

// transforms is the list of codes: one line each.
func transforms() map[string]func(string) (string, error) {
	return map[string]func(string) (string, error){
		"IDENTITY":              func(v string) (string, error) { return v, nil },
		"LOWER":                 func(v string) (string, error) { return strings.ToLower(v), nil },
		"UPPER":                 func(v string) (string, error) { return strings.ToUpper(v), nil },
		"LIST_JOIN":             joinList,
		"FILTER_JOIN":           joinList,
		"TO_EXCLUSIVE_MINUS_1D": dayBefore,
	}
}

// Transforms are the codes of transforms of parameter values (reg_transform).
func Transforms() []string {
	var out []string
	for code := range transforms() {
		out = append(out, code)
	}
	slices.Sort(out)
	return out
}

// Transform applies a transform. No code is IDENTITY.
func Transform(code, value string) (string, error) {
	if code == "" {
		return value, nil
	}
	apply, ok := transforms()[code]
	if !ok {
		return "", fmt.Errorf("transform %q is unknown: use %s", shorten(code), strings.Join(Transforms(), ", "))
	}
	out, err := apply(value)
	if err != nil {
		return "", fmt.Errorf("transform %s: %w", code, err)
	}
	return out, nil
}

func joinList(v string) (string, error) { return strings.ReplaceAll(v, ListSeparator, ","), nil }

// dayBefore makes an exclusive upper date inclusive. It is for rules with
// HALF_OPEN bounds only: others give an inclusive date already.
func dayBefore(v string) (string, error) {
	d, err := time.Parse(time.DateOnly, v)
	if err != nil {
		return "", fmt.Errorf("%q is not a date such as 2025-03-01", shorten(v))
	}
	return d.AddDate(0, 0, -1).Format(time.DateOnly), nil
}

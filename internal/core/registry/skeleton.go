package registry

import (
	_ "embed" // the file to start from
	"slices"
	"strconv"
	"strings"
)

// Skeleton is a commented source file to start from, of a source called example.
//
//go:embed skeleton.yaml
var Skeleton string

// SkeletonFor is the file to start from for a source; file is what its comments call it.
func SkeletonFor(code, file string) string {
	return strings.NewReplacer(
		"example.yaml", file, "patra harvest example", "patra harvest "+code,
		"source: example", "source: "+quoteYAML(code), "name: Example", "name: "+quoteYAML(code), "# Example:", "# "+code+":", "EXAMPLE_API_KEY", variableName(code)+"_API_KEY",
	).Replace(Skeleton)
}

// quoteYAML quotes what YAML would not read as text.
func quoteYAML(code string) string {
	if slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}, code) {
		return strconv.Quote(code)
	}
	return code
}

// variableName is a code as environment variables are written.
func variableName(code string) string { return strings.ToUpper(strings.ReplaceAll(code, "-", "_")) }

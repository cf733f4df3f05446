package registry

import (
	"embed"
	"slices"
	"strconv"
	"strings"
)

// Skeleton is a commented source file to start from, of a source called example.
//
//go:embed skeleton.yaml
var Skeleton string

//go:embed skeletons/*.yaml
var skeletons embed.FS

// SkeletonForms are the forms of a file to start from, the usual one apart.
func SkeletonForms() []string {
	return []string{"crossref", "oai", "two-step", "post", "link", "oauth", "snapshot", "file"}
}

// SkeletonLike is the file to start from of a form; an empty one is the usual one.
func SkeletonLike(form, code, file string) string {
	text := Skeleton
	if form != "" {
		read, err := skeletons.ReadFile("skeletons/" + form + ".yaml")
		if err != nil {
			panic("registry: there is no form " + form) // the build put them there
		}
		text = string(read)
	}
	return nameSkeleton(text, code, file)
}

// SkeletonFor is the file to start from for a source; file is what its comments call it.
func SkeletonFor(code, file string) string { return SkeletonLike("", code, file) }

func nameSkeleton(text, code, file string) string {
	return strings.NewReplacer(
		"example.yaml", file, "patra harvest example", "patra harvest "+code,
		"source: example", "source: "+quoteYAML(code), "name: Example", "name: "+quoteYAML(code), "# Example:", "# "+code+":", "EXAMPLE_API_KEY", variableName(code)+"_API_KEY",
	).Replace(text)
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

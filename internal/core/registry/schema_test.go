package registry

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// checker validates values against the schema. It knows the keywords Schema uses
// and refuses others, so that none is written that nobody tests.
type checker struct {
	root  map[string]any
	fault error
}

func newChecker(t failer) *checker {
	t.Helper()
	return newCheckerOf(t, Schema())
}

func newCheckerOf(t failer, schema []byte) *checker {
	t.Helper()
	c := &checker{}
	if err := json.Unmarshal(schema, &c.root); err != nil {
		t.Fatalf("%v", err)
	}
	return c
}

// RefusedBySchema returns the paths of what a schema refuses in a file.
func RefusedBySchema(t testing.TB, schema, file []byte) []string {
	t.Helper()
	return newCheckerOf(t, schema).check(t, nodeOf(t, file))
}

// violations are the paths of what the schema refuses, written as problems are.
func (c *checker) violations(schema map[string]any, n *node, path Path) (out []string) {
	bad := func() { out = append(out, path.String()) }
	for keyword, want := range schema {
		switch keyword {
		case "$schema", "$id", "$defs", "title", "description", "deprecated", "default", "examples":
		case "$ref":
			out = append(out, c.violations(c.resolve(want.(string)), n, path)...)
		case "anyOf":
			if !slices.ContainsFunc(want.([]any), func(one any) bool { return len(c.violations(one.(map[string]any), n, path)) == 0 }) {
				bad()
			}
		case "type":
			if !hasType(n, want) {
				bad()
			}
		case "enum":
			if n.what != words && n.what != number && n.what != boolean || !slices.Contains(want.([]any), any(n.text)) {
				bad()
			}
		case "pattern":
			if n.what == words && !regexp.MustCompile(want.(string)).MatchString(n.text) {
				bad()
			}
		case "minLength", "maxLength":
			length := float64(utf8.RuneCountInString(n.text))
			if n.what == words && (keyword == "minLength" && length < want.(float64) || keyword == "maxLength" && length > want.(float64)) {
				bad()
			}
		case "minimum":
			if value, err := strconv.ParseFloat(n.text, 64); n.what == number && err == nil && value < want.(float64) {
				bad()
			}
		case "minProperties":
			if n.what == keys && float64(len(n.entries)) < want.(float64) {
				bad()
			}
		case "required":
			for _, name := range want.([]any) {
				if n.what == keys && !slices.ContainsFunc(n.entries, func(e entry) bool { return e.key == name }) {
					out = append(out, path.withKey(name.(string)).String())
				}
			}
		case "propertyNames":
			for _, e := range n.entries {
				out = append(out, c.violations(want.(map[string]any), &node{what: words, text: e.key}, path.withKey(e.key))...)
			}
		case "items":
			for i, item := range n.items {
				if len(c.violations(want.(map[string]any), item, path)) > 0 {
					out = append(out, fmt.Sprintf("%s[%d]", path, i))
				}
			}
		case "properties", "additionalProperties":
			out = append(out, c.below(schema, keyword, n, path)...)
		default:
			c.fault = fmt.Errorf("unknown keyword %q at %s", keyword, path)
		}
	}
	return out
}

func (c *checker) below(schema map[string]any, keyword string, n *node, path Path) (out []string) {
	named, _ := schema["properties"].(map[string]any)
	for _, e := range n.entries {
		one, known := named[e.key]
		if known != (keyword == "properties") {
			continue
		}
		if !known {
			one = schema["additionalProperties"]
		}
		if one == false {
			out = append(out, path.withKey(e.key).String())
			continue
		}
		out = append(out, c.violations(one.(map[string]any), e.value, path.withKey(e.key))...)
	}
	return out
}

func (c *checker) resolve(ref string) map[string]any {
	var at any = c.root
	for _, key := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		object, _ := at.(map[string]any)
		at = object[key]
	}
	found, ok := at.(map[string]any)
	if !ok {
		c.fault = fmt.Errorf("%s leads nowhere", ref)
	}
	return found
}

func hasType(n *node, want any) bool {
	if several, ok := want.([]any); ok {
		return slices.ContainsFunc(several, func(one any) bool { return hasType(n, one) })
	}
	value, err := strconv.ParseFloat(n.text, 64)
	isNumber := n.what == number && err == nil && !strings.Contains(n.text, "_") && !math.IsInf(value, 0) && !math.IsNaN(value)
	switch want {
	case "object":
		return n.what == keys
	case "array":
		return n.what == items
	case "string":
		return n.what == words
	case "boolean":
		return n.what == boolean
	case "number":
		return isNumber
	case "integer":
		return isNumber && value == math.Trunc(value)
	}
	return false
}

func (c *checker) check(t failer, n *node) []string {
	t.Helper()
	out := c.violations(c.root, n, nil)
	if c.fault != nil {
		t.Fatalf("%v", c.fault)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func nodeOf(t failer, text []byte) *node {
	t.Helper()
	n, problems := parseYAML("f.yaml", text)
	if problems != nil {
		t.Fatalf("%v\n%s", problems, text)
	}
	return n
}

func TestGoodFilesFitTheSchema(t *testing.T) {
	c := newChecker(t)
	for _, name := range append(listFiles(t, "testdata/good/*.yaml"), listFiles(t, "../../../catalog/*.yaml")...) {
		if refused := c.check(t, nodeOf(t, read(t, name))); len(refused) > 0 {
			t.Errorf("%s: the schema refuses %v", name, refused)
		}
	}
	if refused := c.check(t, nodeOf(t, []byte(olderCodesText()))); len(refused) > 0 {
		t.Errorf("older codes: the schema refuses %v", refused)
	}
}

// Whatever can be written fits the schema, so that an editor never complains
// about a file the program takes.
func TestAnySourceFitsTheSchema(t *testing.T) {
	c := newChecker(t)
	rapid.Check(t, func(t *rapid.T) {
		leaves := leafSet{}
		leaves.addLeaf(Leaf{Path: Path{"source"}, Value: "src"})
		leaves.addLeaf(Leaf{Path: Path{"name"}, Value: "Name"})
		draw(t, sourceShape(), nil, leaves)
		text := Export(sourceOf(leaves, nil))
		if refused := c.check(t, nodeOf(t, text)); len(refused) > 0 {
			t.Fatalf("the schema refuses %v of\n%s", refused, text)
		}
	})
}

// Where the decoder finds a value bad by its shape, the schema does too, at the
// same key; and it finds nothing else.
func TestBadFilesDoNotFitTheSchema(t *testing.T) {
	c := newChecker(t)
	beyond := func(p Problem) bool { // what no schema can say
		said := func(text string) bool { return strings.Contains(p.String(), text) }
		ownSyntax := p.Code == "E-VALUE" && !strings.HasPrefix(p.Message, "duration ")
		return ownSyntax || slices.ContainsFunc([]string{"given twice", "out of range", "found 0x10", "without NUL", "environment variable"}, said)
	}
	tried := 0
	for _, name := range listFiles(t, "testdata/bad/*.yaml") {
		n, problems := parseYAML("f.yaml", read(t, name))
		if problems != nil {
			continue // not YAML
		}
		var want, tolerated []string
		_, _, err := decodeNode(n)
		found, _ := err.(Problems)
		for _, p := range found {
			if beyond(p) {
				tolerated = append(tolerated, p.Path)
				continue
			}
			tried++
			want = append(want, p.Path)
		}
		slices.Sort(want)
		got := slices.DeleteFunc(c.check(t, n), func(path string) bool { return slices.Contains(tolerated, path) && !slices.Contains(want, path) })
		if want = slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("%s: the schema refuses\n%v, the decoder\n%v", name, got, want)
		}
	}
	if tried < 40 {
		t.Errorf("only %d problems were tried", tried)
	}
}

// Keys of sections are documented, and none is required: another level may have it.
func TestSchemaIsComplete(t *testing.T) {
	c := newChecker(t)
	defs := c.root["$defs"].(map[string]any)
	for _, s := range []*shape{sourceShape(), sectionsShape()} {
		for _, f := range s.fields {
			if f.shape.kind == object && defs[f.name] == nil {
				t.Errorf("there is no definition of %s", f.name)
			}
		}
	}
	for name, def := range defs {
		object := def.(map[string]any)
		if object["additionalProperties"] != false {
			t.Errorf("%s takes any key", name)
		}
		for key, one := range object["properties"].(map[string]any) {
			if text, _ := one.(map[string]any)["description"].(string); text == "" {
				t.Errorf("%s.%s has no description", name, key)
			}
		}
		if required := object["required"]; required != nil && name != "endpoint" {
			t.Errorf("%s requires %v", name, required)
		}
	}
	for path, want := range map[string]string{
		"$defs.http.properties.timeout.default":          "PT30S",
		"$defs.http.properties.maxBodyBytes.default":     "6.7108864e+07",
		"$defs.rate.properties.obeyHeaders.default":      "true",
		"$defs.filter.properties.format.default":         "<nil>",
		"$defs.retry.properties.retryStatus.default":     "<nil>",
		"$defs.window.properties.safetyLag.default":      "PT10M",
		"$defs.window.properties.lookback.default":       "<nil>",
		"$defs.retry.properties.initialDelay.default":    "PT0.1S",
		"$defs.slicing.properties.strategy.default":      "TIME",
		"$defs.endpoint.required":                        "[role]",
		"required":                                       "[source name endpoints]",
		"properties.endpoints.additionalProperties.$ref": "#/$defs/endpoint",
		"properties.http.$ref":                           "#/$defs/http",
		"$schema":                                        "https://json-schema.org/draft/2020-12/schema",
	} {
		var at any = c.root
		for _, key := range strings.Split(path, ".") {
			object, _ := at.(map[string]any)
			at = object[key]
		}
		if got := fmt.Sprint(at); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// A default that is documented and filled in as well is the same in both places.
func TestDocumentedDefaultsHold(t *testing.T) {
	compared := 0
	var walk func(s *shape)
	walk = func(s *shape) {
		for _, f := range s.fields {
			walk(f.shape)
			said := defaultOf(s, f)
			done, ok := filledDefault(s, f)
			if said.value == nil || !ok {
				continue
			}
			compared++
			if !reflect.DeepEqual(said.value, plainValue(done)) {
				t.Errorf("%s.%s is documented as %v and filled with %v", s.typ, f.name, said.value, plainValue(done))
			}
		}
		if s.elem != nil {
			walk(s.elem)
		}
	}
	walk(sourceShape())
	if compared < 20 {
		t.Errorf("only %d defaults were compared", compared)
	}
}

// The pattern lets pass what is read, and stops what is clearly something else.
func TestDurationPattern(t *testing.T) {
	pattern := regexp.MustCompile(durationPattern)
	rapid.Check(t, func(t *rapid.T) {
		units := []string{"P%dW", "P%dD", "PT%dH", "PT%dM", "PT%dS", "P1DT%dH", "PT%d.5S", "%dw", "%dd", "%dh", "%dm", "%ds", "%dms", "1h%dm", "P%d", "%d", "PT%d", "%dx", "P1M%d", "-P%dD"}
		text := fmt.Sprintf(rapid.SampledFrom(units).Draw(t, "unit"), rapid.IntRange(0, 1000).Draw(t, "n"))
		_, err := duration.Parse(text)
		if matches := pattern.MatchString(text); matches != (err == nil) {
			t.Fatalf("%s: pattern %v, %v", text, matches, err)
		}
		any := duration.Duration(rapid.Int64Range(0, 1<<60).Draw(t, "any") / 1000 * 1000).String()
		if !pattern.MatchString(any) {
			t.Fatalf("%s is refused", any)
		}
	})
}

package registry

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Export writes a source as a file that says the same: decoding it gives the
// same rows. Keys stand in the order of the types. The text is written here and
// not by the YAML library, because what it quotes differs from what readers of
// other YAML versions take for text.
func Export(src *Source) []byte {
	out := &yamlWriter{}
	out.writeKeys(sourceShape(), treeOf(src.allLeaves()), 0)
	return []byte(out.text.String())
}

// tree is a value of a file: a leaf, or keys with values below them.
type tree struct {
	leaf  any
	below map[string]*tree
}

func treeOf(leaves leafSet) *tree {
	root := &tree{below: map[string]*tree{}}
	for _, l := range leaves {
		at := root
		for _, key := range l.Path {
			if at.below[key] == nil {
				at.below[key] = &tree{below: map[string]*tree{}}
			}
			at = at.below[key]
		}
		at.leaf = plainValue(l.Value)
	}
	return root
}

type yamlWriter struct{ text strings.Builder }

// writeKeys writes what stands below a mapping, in the order of its type, or of the
// alphabet where a user chose the keys.
func (w *yamlWriter) writeKeys(s *shape, t *tree, depth int) {
	names := s.listKeys()
	if s.kind == mapping && s.enum == nil {
		names = slices.Sorted(maps.Keys(t.below))
	}
	for _, name := range names {
		value, ok := t.below[name]
		if !ok {
			continue
		}
		if depth == 0 && len(value.below) > 0 {
			w.text.WriteString("\n") // sections of the file stand apart
		}
		w.text.WriteString(strings.Repeat("  ", depth) + keyText(name) + ":")
		child, _ := s.childShape(name)
		switch {
		case len(value.below) > 0:
			w.text.WriteString("\n")
			w.writeKeys(child, value, depth+1)
		default:
			if values, several := value.leaf.([]any); several {
				w.writeList(values, depth+1)
				continue
			}
			w.text.WriteString(" " + valueText(value.leaf, false) + "\n")
		}
	}
}

const widestList = 80 // of a list on one line

func (w *yamlWriter) writeList(values []any, depth int) {
	parts := make([]string, len(values))
	for i, value := range values {
		parts[i] = valueText(value, true)
	}
	line := "[" + strings.Join(parts, ", ") + "]"
	if len(line) <= widestList {
		w.text.WriteString(" " + line + "\n")
		return
	}
	w.text.WriteString("\n")
	for _, value := range values {
		w.text.WriteString(strings.Repeat("  ", depth) + "- " + valueText(value, false) + "\n")
	}
}

func valueText(value any, inFlow bool) string {
	switch v := value.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case string:
		return wordsText(v, inFlow)
	}
	panic("registry: export of a value that is not plain")
}

// What may stand without quotes. A text that starts like a number or a date is
// quoted, as is every word some version of YAML reads as something else.
var (
	bareKey  = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_.$-]*$`)
	bareText = regexp.MustCompile(`^[\pL_$/][\pL0-9 _.$/'()\[\]{}:,@+=?&<>-]*$`)
	reserved = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null|nan|inf)$`)
)

func keyText(key string) string {
	if bareKey.MatchString(key) && !reserved.MatchString(key) {
		return key
	}
	return quotedText(key)
}

func wordsText(text string, inFlow bool) string {
	switch {
	case !bareText.MatchString(text), reserved.MatchString(text),
		strings.Contains(text, ": "), strings.HasSuffix(text, ":"), strings.HasSuffix(text, " "),
		inFlow && strings.ContainsAny(text, "[]{},"):
		return quotedText(text)
	}
	return text
}

// quotedText escapes what is not plainly printable, so that no reader and no
// editor can change it.
func quotedText(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteString(`\` + string(r))
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case unicode.IsPrint(r):
			out.WriteRune(r)
		case r <= 0xffff:
			out.WriteString(`\u` + hexEscape(r, 4))
		default:
			out.WriteString(`\U` + hexEscape(r, 8))
		}
	}
	out.WriteByte('"')
	return out.String()
}

func hexEscape(r rune, digits int) string {
	text := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", digits-len(text)) + text
}

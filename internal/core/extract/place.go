package extract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// valueSlot is a selector bound to the values a page or item is read into: those of
// its paths lie side by side.
type valueSlot struct {
	Selector
	from, to int
}

// facts are what a page or an item was read into, and what was given beside it.
type facts struct {
	found []document.Value
	given *tmpl.Given
}

// entry is an item with its facts, or a part of one with what it carries of that.
type entry struct {
	document.Item
	facts   facts
	carried map[string]any
}

// slots collects the paths of a page or of an item.
type slots []document.Path

func (s *slots) addSelector(selector Selector) valueSlot {
	from := len(*s)
	if selector.IsTemplate() {
		*s = append(*s, selector.parsed.template.Paths()...)
	} else if !selector.IsZero() {
		*s = append(*s, selector.Path())
	}
	return valueSlot{selector, from, len(*s)}
}

func (s *slots) addAll(predicates []Predicate) []valueSlot {
	var out []valueSlot
	for _, p := range predicates {
		out = append(out, s.addSelector(p.Selector))
	}
	return out
}

// valueIn returns what a path found. Only for places that are not templates.
func (p valueSlot) valueIn(values facts) document.Value {
	if p.IsZero() {
		return document.Value{}
	}
	return values.found[p.from]
}

// anyIn returns what a path found or a template computed, as a value of templates; nil if that is nothing.
func (p valueSlot) anyIn(values facts) (any, error) {
	if p.IsTemplate() {
		return p.computeIn(values)
	}
	return tmpl.ValueOf(p.valueIn(values))
}

// computeIn evaluates a template.
func (p valueSlot) computeIn(values facts) (any, error) {
	return p.parsed.template.Eval(values.found[p.from:p.to], values.given)
}

// textIn returns the text at a place. It is not ok for what is absent and for what is
// not a scalar.
func (p valueSlot) textIn(values facts) (text string, ok bool, err error) {
	if !p.IsTemplate() {
		text, ok = p.valueIn(values).Text()
		return text, ok, nil
	}
	computed, err := p.computeIn(values)
	if err != nil {
		return "", false, err
	}
	text, ok = textOf(computed)
	return text, ok, nil
}

// nextIn returns what leads to the next page, empty if nothing does. Something that
// is there and cannot be read must not look like the end of the list.
func (p valueSlot) nextIn(values facts) (string, error) {
	text, said, err := p.textIn(values)
	if err == nil && !said {
		err = p.checkUnsaid(values)
	}
	return text, err
}

// checkUnsaid returns nil if nothing stands where a value was looked for. A template
// that renders as empty decided that itself.
func (p valueSlot) checkUnsaid(values facts) error {
	if p.IsZero() || p.IsTemplate() {
		return nil
	}
	if v := p.valueIn(values); v.Present() && !v.IsNull() && string(v.Raw()) != "[]" {
		return fmt.Errorf("%s cannot be read at %s%s", showPart(v.Raw(), maxShown), p, p.textHint(v))
	}
	return nil
}

// textHint says where the text of an element of XML stands that has attributes: it
// is an object then, such as most resumption tokens.
func (p valueSlot) textHint(v document.Value) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(v.Raw(), &members) != nil {
		return ""
	}
	for name := range members {
		if name == "#text" || strings.HasPrefix(name, "@") {
			return fmt.Sprintf("; the element has attributes, and its text is at %s['#text']", p)
		}
	}
	return ""
}

func (p valueSlot) integerIn(values facts) (n int64, ok bool, err error) {
	if !p.IsTemplate() {
		n, ok = p.valueIn(values).Int()
		return n, ok, nil
	}
	computed, err := p.computeIn(values)
	if err != nil {
		return 0, false, err
	}
	switch computed := computed.(type) {
	case int64:
		return computed, true, nil
	case float64:
		n = int64(computed)
		return n, float64(n) == computed && math.Abs(computed) < 1<<53, nil
	case string:
		n, err := strconv.ParseInt(computed, 10, 64)
		return n, err == nil, nil
	}
	return 0, false, nil
}

// showUncounted shows a total below zero: upstreams write -1 where they do not count.
func (p valueSlot) showUncounted(total int64) string {
	return fmt.Sprintf("not counted by the upstream: %d stands at %s", total, p)
}

// showUnreadable shows what stands where a number was looked for and is none; empty
// if nothing does. An empty text of a template says that there is nothing.
func (p valueSlot) showUnreadable(values facts) string {
	if p.IsZero() {
		return ""
	}
	if !p.IsTemplate() {
		if v := p.valueIn(values); p.checkUnsaid(values) != nil {
			return fmt.Sprintf("unreadable at %s (%s)", p, showPart(v.Raw(), maxShown))
		}
		return ""
	}
	computed, err := p.computeIn(values)
	if text, _ := textOf(computed); err == nil && text != "" {
		return fmt.Sprintf("unreadable at %s (%s)", p, showPart([]byte(strconv.Quote(text)), maxShown))
	}
	return ""
}

// booleanIn takes the texts true and false too: XML and CSV have no others.
func (p valueSlot) booleanIn(values facts) (yes, ok bool, err error) {
	var text string
	if p.IsTemplate() {
		computed, err := p.computeIn(values)
		if err != nil {
			return false, false, err
		}
		text, _ = textOf(computed)
	} else {
		text, _ = p.valueIn(values).Text()
	}
	switch strings.ToLower(text) {
	case "true":
		return true, true, nil
	case "false":
		return false, true, nil
	}
	return false, false, nil
}

func (p valueSlot) dateIn(values facts, dates *Dates) (reading, error) {
	if !p.IsTemplate() {
		return dates.readValue(p.valueIn(values))
	}
	computed, err := p.computeIn(values)
	if err != nil {
		return reading{}, err
	}
	return dates.readAny(computed)
}

func textOf(computed any) (string, bool) {
	switch v := computed.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case bool:
		return strconv.FormatBool(v), true
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), true
	}
	return "", false
}

// holdsIn answers a predicate and shows what it saw.
func (p valueSlot) holdsIn(values facts) (yes bool, saw string, err error) {
	if p.IsTemplate() {
		computed, err := p.computeIn(values)
		if err != nil {
			return false, "", err
		}
		yes, isBool := computed.(bool)
		if !isBool {
			return false, "", fmt.Errorf("%s gave %T, not true or false", p, computed)
		}
		return yes, p.showInputs(values), nil
	}
	for _, node := range p.valueIn(values).All() {
		if isTrue(node) {
			return true, showPart(node.Raw(), maxShown), nil
		}
	}
	return false, "", nil
}

// showInputs shows what a template was given.
func (p valueSlot) showInputs(values facts) string {
	var out []string
	for i, path := range p.parsed.template.Paths() {
		text := "nothing"
		if v := values.found[p.from+i]; v.Present() {
			text = showPart(v.Raw(), maxShown/2)
		}
		out = append(out, fmt.Sprintf("%s: %s", path, text))
	}
	return strings.Join(out, ", ")
}

func isTrue(v document.Value) bool {
	switch v.Kind() {
	case document.Absent, document.Null:
		return false
	case document.Bool:
		yes, _ := v.Bool()
		return yes
	case document.String:
		text, ok := v.Text()
		return !ok || text != ""
	case document.Array:
		inner := bytes.TrimLeft(v.Raw()[1:], " \t\r\n")
		return inner[0] != ']'
	}
	return true
}

package registry

import (
	"fmt"
	"strings"
)

const (
	longestList = 20 // of a list whose values are all shown
	mostInList  = 5  // of the values that are shown of a longer one
)

// longList returns the values of a list that is too long to be shown whole, such as thousands of journals.
func longList(value any) ([]any, bool) {
	list, several := plainValue(value).([]any)
	return list, several && len(list) > longestList
}

func countList(list []any) string { return fmt.Sprintf("%d values", len(list)) }

// fewOf shows the first values of a list.
func fewOf(list []any) string {
	parts := make([]string, 0, mostInList+1)
	for _, v := range list[:min(len(list), mostInList)] {
		parts = append(parts, quoteValue(v))
	}
	if len(list) > mostInList {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

// tellLists says of a list that is too long to be shown how many values came and went, and the first of them: two texts of
// thousands of values would hide the one that is missing.
func (c *Change) tellLists(before, after any) {
	old, oldLong := longList(before)
	now, nowLong := longList(after)
	if !oldLong && !nowLong || old == nil || now == nil {
		return
	}
	c.Old, c.New = countList(old), countList(now)
	added, removed := missingFrom(old, now), missingFrom(now, old)
	if len(added) > 0 {
		c.New += fmt.Sprintf(", %d added: %s", len(added), fewOf(added))
	}
	if len(removed) > 0 {
		c.New += fmt.Sprintf(", %d removed: %s", len(removed), fewOf(removed))
	}
	if len(added)+len(removed) == 0 {
		c.New += ", the same in another order"
	}
}

// missingFrom returns the values of a list that another one lacks, in their order.
func missingFrom(other, list []any) (out []any) {
	has := make(map[any]bool, len(other))
	for _, v := range other {
		has[v] = true
	}
	for _, v := range list {
		if !has[v] {
			out = append(out, v)
		}
	}
	return out
}

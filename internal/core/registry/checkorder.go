package registry

import "fmt"

// checkOrder refuses a file that says two things about how its list is sorted.
func (r *Resolved) checkOrder() Problems {
	said, given := r.merged.leaves[Path{"window", "ordered"}.String()]
	if r.Window.Order == "" || !given || said.Value != false {
		return nil
	}
	return Problems{r.problemAt(Path{"window", "ordered"},
		fmt.Sprintf("E-WINDOW-SUPPORT: window.order is %s, but window.ordered says that the list is not sorted", r.Window.Order),
		"window.order says it all: drop window.ordered, or drop window.order if the upstream does not sort by date")}
}

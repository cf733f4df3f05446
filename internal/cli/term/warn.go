package term

import (
	"slices"
)

// WarnOnce tells a warning once, however often a command opens what it is about.
func (e *Env) WarnOnce(text string) {
	if slices.Contains(e.warned, text) {
		return
	}
	e.warned = append(e.warned, text)
	e.Hint("%s", text)
}

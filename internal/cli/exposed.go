package cli

import "slices"

// warnOnce tells a warning once, however often a command opens what it is about.
func (e *env) warnOnce(text string) {
	if slices.Contains(e.warned, text) {
		return
	}
	e.warned = append(e.warned, text)
	e.hint("%s", text)
}

package window

import "time"

// Step is one line of the explanation of a window: which quantity, its value, and why it has it (W§3.2 asks for the audit).
type Step struct {
	Name  string `json:"step"`
	Value string `json:"value"`
	Why   string `json:"why"`
}

const none = "none"

type trail []Step

func (t *trail) noteStep(name, value, why string) {
	*t = append(*t, Step{Name: name, Value: value, Why: why})
}

func (t *trail) noteInstant(name string, value time.Time, why string) {
	t.noteStep(name, Text(value), why)
}

// noteOptional keeps the line of a quantity that was not given: a reader should see that it was asked for.
func (t *trail) noteOptional(name string, value *time.Time, why string) {
	if value == nil {
		t.noteStep(name, none, "not given or not needed")
		return
	}
	t.noteInstant(name, *value, why)
}

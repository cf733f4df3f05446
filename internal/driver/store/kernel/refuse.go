package kernel

import (
	"errors"
	"strings"
)

// Refusal is why an operator's wish is not granted. It is no conflict inside the
// step: that would be redone.
type Refusal struct {
	Kind  error
	Texts []string
}

// Refuse refuses a wish for reasons.
func Refuse(kind error, texts ...string) Refusal { return Refusal{kind, texts} }

func (r Refusal) Error() string { return strings.Join(r.Texts, "; ") }

// ErrRehearsed rolls a rehearsal back, before it takes a number of the audit log.
var ErrRehearsed = errors.New("rehearsed")

// Performed returns the error that the caller of an act gets: none for a rehearsal.
func Performed(err error) error {
	var r Refusal
	switch {
	case errors.Is(err, ErrRehearsed):
		return nil
	case errors.As(err, &r):
		return refused{r}
	}
	return err
}

// refused is a refusal outside of its step, where its kind may be known.
type refused struct{ Refusal }

// Is tells the kind of a refusal.
func (r refused) Is(target error) bool { return target == r.Kind }

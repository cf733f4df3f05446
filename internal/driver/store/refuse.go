package store

import (
	"errors"
	"strings"
)

// refusal is why an operator's wish is not granted. It is no conflict inside the
// step: that would be redone.
type refusal struct {
	kind  error
	texts []string
}

func (r refusal) Error() string { return strings.Join(r.texts, "; ") }

// errRehearsed rolls a rehearsal back, before it takes a number of the audit log.
var errRehearsed = errors.New("rehearsed")

// performed is what the caller of an act is told.
func performed(err error) error {
	var r refusal
	switch {
	case errors.Is(err, errRehearsed):
		return nil
	case errors.As(err, &r):
		return refused{r}
	}
	return err
}

// refused is a refusal outside of its step, where its kind may be known.
type refused struct{ refusal }

func (r refused) Is(target error) bool { return target == r.kind }

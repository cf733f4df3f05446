package reason

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/view"
)

// Not every pass is worth a line.
func TestBelieve09ReasonIsToldNowAndThen(t *testing.T) {
	var said []string
	r := NewRestartHint(func(_ string, args ...any) { said = append(said, args[0].(string)) })
	for n := range 12 {
		r.tellSometimes([]view.StartedOver{{TaskID: 7, Restarts: n, Reason: "an answer was lost"}})
	}
	if len(said) != 3 || !strings.Contains(said[0], "1 time: an answer was lost") || !strings.Contains(said[1], "3 times") || !strings.Contains(said[2], "8 times") {
		t.Errorf("%q", said)
	}
}

package fault

import "testing"

func TestTrust12StreakStopsAfterTheSameLastingFault(t *testing.T) {
	refused := &Error{Code: Network, Level: Transient, Lasting: true}
	var s Streak
	for i := 1; i <= stopFirst; i++ {
		s = s.Note(refused)
		if got, want := s.Stops(false), i == stopFirst; got != want {
			t.Errorf("after %d runs: stops %v", i, got)
		}
		if s.Stops(true) {
			t.Errorf("after %d runs, and pages before: stops", i)
		}
	}
	if other := s.Note(Newf(BadRequest, "no")); other.Runs != 1 {
		t.Errorf("another reason goes on with %d", other.Runs)
	}
	if over := s.Note(New(ServerError, nil)); over != (Streak{}) {
		t.Errorf("a fault that passes leaves %+v", over)
	}
	bad, worse := New(BadBody, nil), New(BadBody, nil)
	bad.At, worse.At = "$.items", "$.next"
	if s := (Streak{}).Note(bad).Note(worse); s.Runs != 1 {
		t.Errorf("another path goes on with %d", s.Runs)
	}
}

func TestLastingFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		fault *Error
		lasts bool
	}{
		"time-out":        {New(Network, nil), false},
		"refused":         {&Error{Code: Network, Level: Transient, Lasting: true}, true},
		"500":             {New(ServerError, nil), false},
		"400":             {New(BadRequest, nil), true},
		"409, retried":    {&Error{Code: BadRequest, Level: Transient}, false},
		"private address": {New(Refused, nil), true},
		"template":        {New(Render, nil), true},
		"not JSON":        {New(BadBody, nil), false},
		"path is missing": {&Error{Code: BadBody, Level: Transient, At: "$.items"}, true},
		"budget":          {New(Budget, nil), false},
	} {
		if got := tc.fault.Lasts(); got != tc.lasts {
			t.Errorf("%s: lasts %v", name, got)
		}
	}
}

func TestCodeIn(t *testing.T) {
	for text, want := range map[string]Code{
		"UNAUTHORIZED (HTTP 401): GET /works": Unauthorized, "NO_END: never": NoEnd, "SCHEMA_CHANGE": SchemaChange, "they asked us to": "", "": "",
	} {
		if got := CodeIn(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

package transport

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// What the gate hears: the limits every answer announces, and a Retry-After
// only where the upstream turned us away.
func TestGateHearsOfLimits(t *testing.T) {
	announced := map[string]string{"X-Rate-Limit-Limit": "5", "X-Rate-Limit-Interval": "1s", "X-Concurrency-Limit": "2", "Retry-After": "30"}
	for status, wait := range map[int]time.Duration{200: 0, 429: 30 * time.Second, 503: 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			permits, in := &turnstile{}, call()
			in.Retry.MaxAttempts = 1
			_, _ = Stack(&upstream{script: []reply{{status: status, header: announced}}}, permits).Do(t.Context(), in)
			want := gate.Signal{Outcome: gate.OutcomeOf(status), RetryAfter: wait, Announced: gate.Announced{PerSecond: 5, Concurrency: 2}}
			if len(permits.feedback) != 1 || permits.feedback[0] != want {
				t.Errorf("%d: the gate heard %+v, want %+v", status, permits.feedback, want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		permits, in := &turnstile{}, call()
		in.Retry.MaxAttempts = 1
		_, _ = Stack(&upstream{script: []reply{{err: errBroken}}}, permits).Do(t.Context(), in)
		if len(permits.feedback) != 1 || permits.feedback[0] != (gate.Signal{Outcome: gate.Failed}) {
			t.Errorf("without an answer the gate heard %+v", permits.feedback)
		}
	})
}

func TestNotesTellTheWholeStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &upstream{script: []reply{{status: 500, takes: time.Second}, {err: errBroken}, {status: 429}, {status: 200, takes: 3 * time.Second}}}
		in := call()
		in.Request.Header.Set("Authorization", "hunter3")
		in.Request.Header.Set("Accept", "application/json")
		if _, err := Stack(up, &turnstile{}).Do(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		n := in.Notes
		if n.Attempts != 4 || n.Throttled != 1 || n.BytesIn != 6 || n.Response == nil || n.Response.Status != 200 || n.Response.TookMS != 3000 {
			t.Errorf("%+v, response %+v", n, n.Response)
		}
		text, err := json.Marshal(n)
		if err != nil || strings.Contains(string(text), "hunter3") {
			t.Errorf("%s %v", text, err)
		}
	})
}

// After a failure without an answer, the answer before it is no evidence.
func TestNotesForgetAnEarlierAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := call()
		in.Retry.MaxAttempts = 2
		_, err := Stack(&upstream{script: []reply{{status: 500}, {err: errBroken}}}, &turnstile{}).Do(t.Context(), in)
		if fault.As(err).Code != fault.Network || in.Notes.Response != nil {
			t.Errorf("%v, response %+v", err, in.Notes.Response)
		}
	})
}

// I12: the query may hold a key, so no error text of the chain names it.
func TestErrorsDoNotTellTheQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, r := range []reply{{status: 500}, {status: 404}, {status: 403}, {status: 429}, {err: errBroken}} {
			for _, replayable := range []bool{true, false} {
				in := call()
				in.Retry.MaxAttempts, in.Request.Replayable = 2, replayable
				_, err := Stack(&upstream{script: []reply{r}}, &turnstile{}).Do(t.Context(), in)
				if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "api_key") {
					t.Errorf("%+v: %v", r, err)
				}
			}
		}
	})
}

package gate

import (
	"fmt"
	"net/textproto"
	"testing"
	"time"
)

// Header families as real sources send them.
func TestHeaderFamilies(t *testing.T) {
	for _, c := range []struct {
		name   string
		header MapHeader
		want   string // rate, places, remaining, limit, seconds to the reset
	}{
		{"Crossref", MapHeader{"X-Rate-Limit-Limit": "5", "X-Rate-Limit-Interval": "1s", "X-Concurrency-Limit": "1"}, "5 1 - - -"},
		{"Crossref, both spellings", MapHeader{"X-Rate-Limit-Limit": "50", "X-Rate-Limit-Interval": "1s", "X-Ratelimit-Limit": "50", "X-Ratelimit-Interval": "1s"}, "50 0 - - -"},
		{"interval in plain seconds", MapHeader{"X-Ratelimit-Limit": "30", "X-Ratelimit-Interval": "60"}, "0.5 0 - - -"},
		{"NCBI: a limit without a window is no rate", MapHeader{"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "9"}, "0 0 9 10 -"},
		{"OpenAlex", MapHeader{"X-Ratelimit-Limit": "10000", "X-Ratelimit-Remaining": "9654", "X-Ratelimit-Reset": "39907", "X-Ratelimit-Remaining-Usd": "0.9654", "X-Ratelimit-Credits-Used": "1"}, "0 0 9654 10000 39907"},
		{"OpenAlex, earlier", MapHeader{"Ratelimit-Limit": "100", "Ratelimit-Remaining": "99", "Ratelimit-Reset": "1"}, "0 0 99 100 1"},
		{"end as seconds since 1970", MapHeader{"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": fmt.Sprint(t0.Unix() + 90)}, "0 0 0 - 90"},
		{"end as milliseconds since 1970", MapHeader{"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": fmt.Sprint(t0.UnixMilli() + 2000)}, "0 0 0 - 2"},
		{"end as a date", MapHeader{"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "Mon, 10 Mar 2025 12:00:30 GMT"}, "0 0 0 - 30"},
		{"the smaller of two", MapHeader{"X-Ratelimit-Remaining": "7", "Ratelimit-Remaining": "3", "Ratelimit-Reset": "5"}, "0 0 3 - 5"},
		{"draft, by name", MapHeader{"Ratelimit": "limit=100, remaining=50, reset=5"}, "0 0 50 100 5"},
		{"draft, by letter", MapHeader{"Ratelimit": `"burst";r=4;t=3`, "Ratelimit-Policy": `"burst";q=10;w=2`}, "5 0 4 - 3"},
		{"draft, several policies", MapHeader{"Ratelimit": `"burst";r=4;t=3, "day";r=2;t=500`, "Ratelimit-Policy": `"burst";q=10;w=1,"day";q=1000;w=86400`}, "10 0 2 - 500"},
		{"draft, old policy", MapHeader{"Ratelimit-Policy": "10;w=1, 50;w=60"}, fmt.Sprint(50.0/60) + " 0 - - -"},
		{"a quota is not spread over the day", MapHeader{"Ratelimit-Policy": "1000;w=86400"}, "0 0 - - -"},
		{"nonsense", MapHeader{"X-Ratelimit-Remaining": "soon", "X-Ratelimit-Limit": "-", "X-Rate-Limit-Limit": "NaN", "X-Rate-Limit-Interval": "1s", "Ratelimit": ";;=,", "Ratelimit-Policy": "x;w=y", "X-Concurrency-Limit": "-1"}, "0 0 - - -"},
		{"past the end of time", MapHeader{"X-Ratelimit-Remaining": "1e300", "X-Ratelimit-Reset": "1e300"}, "0 0 - - -"},
		{"less than nothing", MapHeader{"X-Ratelimit-Remaining": "-3", "X-Ratelimit-Reset": "-8"}, "0 0 -3 - -"},
	} {
		a := ReadHeaders(c.header, t0)
		number := func(n *int64) string {
			if n == nil {
				return "-"
			}
			return fmt.Sprint(*n)
		}
		end := "-"
		if !a.Reset.IsZero() {
			end = fmt.Sprint(a.Reset.Sub(t0).Seconds())
		}
		if got := fmt.Sprint(a.PerSecond, a.Concurrency, " ", number(a.Remaining), " ", number(a.Limit), " ", end); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Whatever a header says, no number that comes out of it is wild.
func FuzzReadHeaders(f *testing.F) {
	f.Add("10", "1s", "5", "60", `"a";r=4;t=3`, "10;w=1")
	f.Add("1e308", "1e-308", "-1", "1e15", "remaining=1e14", "1e14;w=1e-14")
	f.Fuzz(func(t *testing.T, limit, interval, remaining, reset, fields, policy string) {
		a := ReadHeaders(MapHeader{
			"X-Rate-Limit-Limit": limit, "X-Rate-Limit-Interval": interval, "X-Ratelimit-Remaining": remaining, "X-Ratelimit-Reset": reset,
			"Ratelimit": fields, "Ratelimit-Policy": policy,
		}, t0)
		if !(a.PerSecond >= 0) || a.Concurrency < 0 {
			t.Fatalf("%+v", a)
		}
		s := NewState(Limits{}, 0, 1, t0)
		s.Learn(Signal{Announced: a}, t0, t0, 0.5)
		if v := s.Judge(&Ask{}, t0); v.Until.Sub(t0) > 2*maxWait {
			t.Fatalf("%+v leads to %+v", a, v)
		}
		if d := RetryAfter(limit, t0); d < 0 || d > MaxRetryAfter {
			t.Fatalf("Retry-After %q is %v", limit, d)
		}
	})
}

func TestJitter(t *testing.T) {
	for _, c := range []struct {
		wait     time.Duration
		random   float64
		from, to time.Duration
	}{
		{time.Minute, 0, 63 * time.Second, 63 * time.Second},
		{time.Minute, 0.999, 68 * time.Second, 69 * time.Second},
		{24 * time.Hour, 0.5, 24*time.Hour + maxJitter, 24*time.Hour + maxJitter},
	} {
		if got := Jittered(c.wait, c.random); got < c.from || got > c.to {
			t.Errorf("%v with %v: %v", c.wait, c.random, got)
		}
	}
}

// MapHeader adapts a plain map.
type MapHeader map[string]string

// Get finds a header by its canonical name.
func (h MapHeader) Get(name string) string { return h[textproto.CanonicalMIMEHeaderKey(name)] }

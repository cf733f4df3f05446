package upsim

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// FaultKind is one way to misbehave. The list is closed; see FaultKinds.
type FaultKind string

// The kinds; the package doc says what each does.
const (
	Fault429           FaultKind = "429"
	Fault500           FaultKind = "500"
	Fault502           FaultKind = "502"
	Fault503           FaultKind = "503"
	Fault504           FaultKind = "504"
	FaultHTML200       FaultKind = "html-200"
	FaultError200      FaultKind = "error-200"
	FaultEmpty200      FaultKind = "empty-200"
	FaultDuplicatePage FaultKind = "duplicate-page"
	FaultExpireCursor  FaultKind = "expire-cursor"
	FaultReset         FaultKind = "reset"
	FaultTruncateGzip  FaultKind = "truncate-gzip"
	FaultTruncateJSON  FaultKind = "truncate-json"
	FaultLostAnswer    FaultKind = "lost-answer"
	FaultMissingID     FaultKind = "missing-id"
	FaultBadDate       FaultKind = "bad-date"
	FaultSlow          FaultKind = "slow"
)

// FaultKinds lists all kinds, for help texts and for tests that try each.
func FaultKinds() []FaultKind {
	return []FaultKind{
		Fault429, Fault500, Fault502, Fault503, Fault504, FaultHTML200, FaultError200, FaultEmpty200,
		FaultDuplicatePage, FaultExpireCursor, FaultReset, FaultTruncateGzip, FaultTruncateJSON,
		FaultLostAnswer, FaultMissingID, FaultBadDate, FaultSlow,
	}
}

// answersAlone is true for kinds that answer without a page.
func (k FaultKind) answersAlone() bool {
	switch k {
	case FaultHTML200, FaultError200, FaultEmpty200:
		return true
	}
	return k.status() != 0
}

// status is the HTTP status of the kinds that are named after one.
func (k FaultKind) status() int {
	switch k {
	case Fault429:
		return 429
	case Fault500:
		return 500
	case Fault502:
		return 502
	case Fault503:
		return 503
	case Fault504:
		return 504
	}
	return 0
}

// Hit is a request as faults see it.
type Hit struct {
	N     int // number of the request, from 1
	Path  string
	Query url.Values
	Page  int // which page of its walk is asked for, from 1; 0 outside a walk
	items int // works the page will hold; 0 for anything but a list
}

// Fault is one scripted misbehaviour. All conditions that are set must hold;
// one without any applies to every request.
type Fault struct {
	Kind FaultKind

	From, To int            // request numbers, both included; 0 leaves that end open
	Every    int            // request numbers that it divides
	Chance   float64        // by chance; the draw is fixed per request number
	Page     int            // that page of any walk
	Times    int            // at most so often
	When     func(Hit) bool // anything else; it may change the data set, but not wait

	RetryAfter string        // header text; "date+2s" gives the HTTP date two seconds on
	Delay      time.Duration // before anything is answered
	Advance    bool          // the walk moves on although no page is answered
}

// matches leaves out Times, which is counted where the fault is applied.
func (f Fault) matches(h Hit, seed, index uint64) bool {
	draw := newStream(seed, 'x', index, uint64(h.N))
	switch {
	case f.From > 0 && h.N < f.From,
		f.To > 0 && h.N > f.To,
		f.Every > 0 && h.N%f.Every != 0,
		f.Page > 0 && h.Page != f.Page,
		f.Chance > 0 && !draw.chance(f.Chance),
		f.When != nil && !f.When(h):
		return false
	}
	return f.Kind.applies(h)
}

// applies is false where a kind has nothing to work on.
func (k FaultKind) applies(h Hit) bool {
	switch k {
	case FaultDuplicatePage, FaultExpireCursor:
		return h.Page > 1
	case FaultMissingID, FaultBadDate:
		return h.items > 0
	}
	return true
}

func (f Fault) validate() error {
	switch {
	case !slices.Contains(FaultKinds(), f.Kind):
		return fmt.Errorf("unknown kind %q; the kinds are %s", f.Kind, kindNames())
	case f.From < 0 || f.To < 0 || f.Every < 0 || f.Page < 0 || f.Times < 0 || f.Delay < 0:
		return fmt.Errorf("a number of %s is negative", f.Kind)
	case f.To > 0 && f.To < f.From:
		return fmt.Errorf("the requests %d-%d run backwards", f.From, f.To)
	case !(f.Chance >= 0 && f.Chance <= 1):
		return fmt.Errorf("the chance %v is not between 0 and 1", f.Chance)
	case f.RetryAfter != "" && f.Kind.status() == 0:
		return fmt.Errorf("%s sends no Retry-After; 429 and the 5xx kinds do", f.Kind)
	case f.Advance && !f.Kind.answersAlone():
		return fmt.Errorf("advance means nothing for %s, which always or never moves the walk", f.Kind)
	case f.Kind == FaultSlow && f.Delay == 0:
		return fmt.Errorf("slow needs a delay, for example slow@3:delay=2s")
	}
	return nil
}

func kindNames() string {
	names := make([]string, 0, len(FaultKinds()))
	for _, k := range FaultKinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

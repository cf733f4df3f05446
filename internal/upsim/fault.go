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
	FaultBrokenJSON    FaultKind = "broken-json"

	// Of the forms only.
	FaultShiftInsert  FaultKind = "shift-insert"
	FaultShiftRemove  FaultKind = "shift-remove"
	FaultTokenLoop    FaultKind = "token-loop"
	FaultLostNext     FaultKind = "lost-next"
	FaultShortPage    FaultKind = "short-page"
	FaultEmptyPage    FaultKind = "empty-page"
	FaultRepeatLast   FaultKind = "repeat-last"
	FaultTotalMissing FaultKind = "total-missing"
	FaultTotalWrong   FaultKind = "total-wrong"
	FaultTotalFalling FaultKind = "total-falling"
	FaultWithhold     FaultKind = "withhold"
)

// FaultKinds lists all kinds, for help texts and for tests that try each.
func FaultKinds() []FaultKind {
	kinds := []FaultKind{
		Fault429, Fault500, Fault502, Fault503, Fault504, FaultHTML200, FaultError200, FaultEmpty200,
		FaultDuplicatePage, FaultExpireCursor, FaultReset, FaultTruncateGzip, FaultTruncateJSON,
		FaultLostAnswer, FaultMissingID, FaultBadDate, FaultSlow, FaultBrokenJSON,
		FaultShiftInsert, FaultShiftRemove, FaultTokenLoop, FaultLostNext, FaultShortPage, FaultEmptyPage,
		FaultRepeatLast, FaultTotalMissing, FaultTotalWrong, FaultTotalFalling, FaultWithhold,
	}
	return append(kinds, surplusKinds()...)
}

// answersAlone reports whether a kind answers without a page.
func (k FaultKind) answersAlone() bool {
	switch k {
	case FaultHTML200, FaultError200, FaultEmpty200:
		return true
	}
	return k.httpStatus() != 0
}

// httpStatus returns the HTTP status of the kinds that are named after one.
func (k FaultKind) httpStatus() int {
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
	items int // works the answer will hold; 0 for one that holds none

	// Below /forms/ only.
	Params url.Values // wherever they travelled, without credentials
	IDs    []string   // of a request for records
	form   foreseen
}

// Fault is one scripted misbehaviour. All conditions that are set must hold;
// one without any applies to every request.
type Fault struct {
	Kind FaultKind

	From, To int            // request numbers, both included; 0 leaves that end open
	Every    int            // request numbers that it divides
	Chance   float64        // by chance; the draw is fixed per request number
	Page     int            // that page of any walk
	Path     string         // paths that begin so
	ID       string         // requests for records that name this id
	Times    int            // at most so often
	When     func(Hit) bool // anything else; it may change the data set, but not wait

	RetryAfter string        // header text; "date+2s" gives the HTTP date two seconds on
	Delay      time.Duration // before anything is answered
	Advance    bool          // the walk moves on although no page is answered
	Status     int           // expire-cursor below /forms/: 200, 400, 404 (default) or 410
	Back       int           // token-loop: the page it leads back to; default 1
	Total      int           // total-wrong: what is announced; total-falling: less with each page, default 1
}

// matchesHit leaves out Times, which is counted where the fault is applied.
func (f Fault) matchesHit(h Hit, seed, index uint64) bool {
	draw := newStream(seed, 'x', index, uint64(h.N))
	switch {
	case f.From > 0 && h.N < f.From,
		f.To > 0 && h.N > f.To,
		f.Every > 0 && h.N%f.Every != 0,
		f.Page > 0 && h.Page != f.Page,
		!strings.HasPrefix(h.Path, f.Path),
		f.ID != "" && !slices.Contains(h.IDs, f.ID),
		f.Chance > 0 && !draw.happens(f.Chance),
		f.When != nil && !f.When(h):
		return false
	}
	return f.Kind.appliesTo(h)
}

// appliesTo reports whether a kind has something to work on.
func (k FaultKind) appliesTo(h Hit) bool {
	switch k {
	case FaultDuplicatePage:
		return h.Page > 1 && !h.form.past
	case FaultExpireCursor:
		return h.Page > 1 && (!h.form.is || h.form.token)
	case FaultMissingID, FaultBadDate:
		return h.items > 0
	}
	return k.appliesToForm(h)
}

func (f Fault) checkFault() error {
	switch {
	case !slices.Contains(FaultKinds(), f.Kind):
		return fmt.Errorf("unknown kind %q; the kinds are %s", f.Kind, kindNames())
	case f.From < 0 || f.To < 0 || f.Every < 0 || f.Page < 0 || f.Times < 0 || f.Delay < 0 || f.Back < 0 || f.Total < 0:
		return fmt.Errorf("a number of %s is negative", f.Kind)
	case f.To > 0 && f.To < f.From:
		return fmt.Errorf("the requests %d-%d run backwards", f.From, f.To)
	case !(f.Chance >= 0 && f.Chance <= 1):
		return fmt.Errorf("the chance %v is not between 0 and 1", f.Chance)
	case f.RetryAfter != "" && f.Kind.httpStatus() == 0:
		return fmt.Errorf("%s sends no Retry-After; 429 and the 5xx kinds do", f.Kind)
	case f.Advance && !f.Kind.answersAlone():
		return fmt.Errorf("advance means nothing for %s, which always or never moves the walk", f.Kind)
	case f.Status != 0 && (f.Kind != FaultExpireCursor || !slices.Contains([]int{200, 400, 404, 410}, f.Status)):
		return fmt.Errorf("a status of %d for %s; expire-cursor takes 200, 400, 404 or 410", f.Status, f.Kind)
	case f.Back != 0 && f.Kind != FaultTokenLoop:
		return fmt.Errorf("%s leads nowhere; back is for token-loop", f.Kind)
	case f.Total != 0 && f.Kind != FaultTotalWrong && f.Kind != FaultTotalFalling:
		return fmt.Errorf("%s announces nothing; total is for total-wrong and total-falling", f.Kind)
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

// appliesToForm reports whether a kind of the forms has something to work on.
func (k FaultKind) appliesToForm(h Hit) bool {
	f := h.form
	switch k {
	case FaultShiftInsert, FaultShiftRemove:
		return f.is && h.Page > 1
	case FaultTokenLoop:
		return f.leads && f.places > 0
	case FaultLostNext:
		return (f.leads || f.flags) && f.left > 0
	case FaultShortPage, FaultEmptyPage, FaultPinnedItem, FaultForeignItem:
		return f.places > 0
	case FaultRepeatLast:
		return f.past
	case FaultTotalMissing, FaultTotalWrong, FaultTotalFalling:
		return f.announces
	case FaultWithhold:
		return len(h.IDs) > 0
	}
	return true
}

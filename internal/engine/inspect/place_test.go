package inspect

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
)

type drawer struct {
	disks []view.Disk
	raw   *view.RawRoom
}

func (s drawer) Disks() []view.Disk     { return s.disks }
func (s drawer) RawRoom() *view.RawRoom { return s.raw }

// A disk that is nearly full is critical, each disk once, and none when room was made;
// bodies near their bound are worth a look.
func TestStatusTellsOfDisks(t *testing.T) {
	const giga = 1 << 30
	l := calm(t)
	for name, c := range map[string]struct {
		is   drawer
		want []view.FindingCode
	}{
		"room":        {drawer{[]view.Disk{{Path: "/srv", Total: 100 * giga, Free: 50 * giga}}, &view.RawRoom{Dir: "/srv/raw", Bytes: 5, Limit: 10}}, nil},
		"nearly full": {drawer{[]view.Disk{{Path: "/srv", Total: 100 * giga, Free: giga}, {Path: "/a", Total: 100 * giga, Free: 2 * giga}}, nil}, []view.FindingCode{view.FoundDiskLow, view.FoundDiskLow}},
		"many bodies": {drawer{nil, &view.RawRoom{Dir: "/srv/raw", Bytes: 95, Limit: 100}}, []view.FindingCode{view.FoundRawFull}},
	} {
		from := l.inspector().from
		from.Place = c.is
		s, err := New(from, threshold.Default()).Status(t.Context(), StatusQuery{})
		if err != nil || !slices.Equal(codes(s), c.want) {
			t.Errorf("%s: %v %v", name, codes(s), err)
		}
		if s, err := New(from, threshold.Default()).Status(t.Context(), StatusQuery{Source: "crossref"}); err != nil || len(s.Findings) > 0 {
			t.Errorf("%s: of a source %+v %v", name, s.Findings, err)
		}
	}
}

// Three answers in a row that are slow, or do not come, are a finding until one is well.
func TestAStoreThatIsSlowOrUnreachable(t *testing.T) {
	gone := errors.New("connection refused")
	at := func(n int, took time.Duration, err error) view.StoreSample {
		return view.StoreSample{At: march(1).Add(time.Duration(n) * time.Minute), Took: took, Err: err}
	}
	for name, c := range map[string]struct {
		samples []view.StoreSample
		want    view.FindingCode
		since   int
	}{
		"quick":               {[]view.StoreSample{at(0, 1, nil), at(1, 1, nil), at(2, 1, nil)}, "", 0},
		"slow once":           {[]view.StoreSample{at(0, 1, nil), at(1, time.Minute, nil), at(2, 1, nil)}, "", 0},
		"slow":                {[]view.StoreSample{at(0, 1, nil), at(1, time.Minute, nil), at(2, 2*time.Second, nil), at(3, time.Minute, nil)}, view.FoundStoreSlow, 1},
		"unreachable":         {[]view.StoreSample{at(0, 1, nil), at(1, 0, gone), at(2, 0, gone), at(3, 0, gone), at(4, 0, gone)}, view.FoundUnreachable, 1},
		"there again":         {[]view.StoreSample{at(1, 0, gone), at(2, 0, gone), at(3, 0, gone), at(4, 1, nil)}, "", 0},
		"unreachable at once": {[]view.StoreSample{at(0, 0, gone)}, "", 0},
	} {
		f, found := calm(t).inspector().JudgeStore(c.samples, march(2))
		if found != (c.want != "") || f.Code != c.want || found && (!f.Since.Equal(at(c.since, 0, nil).At) || f.Next == "" || f.Severity == "") {
			t.Errorf("%s: %t %+v", name, found, f)
		}
	}
}

package inspect

import (
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
		"by bodies":   {drawer{[]view.Disk{{Path: "/srv", Holds: []string{view.HoldsBodies}, Total: 100 * giga, Free: giga}}, &view.RawRoom{Dir: "/srv/raw", Bytes: 95, Limit: 100}}, []view.FindingCode{view.FoundDiskLow}},
		"on another":  {drawer{[]view.Disk{{Path: "/srv", Total: 100 * giga, Free: giga}}, &view.RawRoom{Dir: "/raw", Bytes: 95, Limit: 100}}, []view.FindingCode{view.FoundDiskLow, view.FoundRawFull}},
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

// Three answers in a row that are slow are a finding, and none where one is well.
func TestAStoreThatIsSlow(t *testing.T) {
	at := func(n int, took time.Duration) view.StoreSample {
		return view.StoreSample{At: march(1).Add(time.Duration(n) * time.Minute), Took: took}
	}
	for name, c := range map[string]struct {
		samples []view.StoreSample
		want    bool
	}{
		"quick":      {[]view.StoreSample{at(0, 1), at(1, 1), at(2, 1)}, false},
		"slow once":  {[]view.StoreSample{at(0, 1), at(1, time.Minute), at(2, 1)}, false},
		"slow":       {[]view.StoreSample{at(1, time.Minute), at(2, 2*time.Second), at(3, time.Minute)}, true},
		"well again": {[]view.StoreSample{at(1, time.Minute), at(2, 2*time.Second), at(3, 1)}, false},
		"asked once": {[]view.StoreSample{at(1, time.Minute)}, false},
	} {
		s := &statusBuilder{Inspector: calm(t).inspector()}
		f, found := s.judgeSlow(c.samples)
		if found != c.want || found && (f.Code != view.FoundStoreSlow || !f.Since.Equal(at(1, 0).At) || f.Took.Std() != 2*time.Second) {
			t.Errorf("%s: %t %+v", name, found, f)
		}
	}
}

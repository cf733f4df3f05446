package slicing

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// shelf is an upstream that counts items by the value of one field.
type shelf struct {
	axis   Axis
	values [][]int64 // places of each item; most have one
	asked  int
}

func (s *shelf) count(of AxisPart) (n int64, _ error) {
	s.asked++
	if of.IsWhole() {
		return int64(len(s.values)), nil
	}
	for _, item := range s.values {
		for _, place := range item {
			if s.axis.holds(of, place) {
				n++
			}
		}
	}
	return n, nil
}

// holds reports whether a part has a place.
func (a Axis) holds(s AxisPart, place int64) bool {
	if s.To == "" {
		return s.From == fmt.Sprint(place)
	}
	from, err1 := a.place(s.From)
	to, err2 := a.place(s.To)
	return err1 == nil && err2 == nil && from <= place && place <= to
}

// Whatever the items are, the parts follow each other from one end of the axis to the
// other, none has more than is served, and every item is in exactly one (I1, I2).
func TestAxisIsTiled(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	for round := range 500 {
		axis := Axis{Field: "uid", From: "1", To: fmt.Sprint(1 + random.Int64N(100_000_000))}
		if round%3 == 0 {
			axis = Axis{Field: "day", From: "1800-01-01", To: "2030-12-31"}
		}
		low, _ := axis.place(axis.From)
		high, _ := axis.place(axis.To)
		up := &shelf{axis: axis}
		used := map[int64]int64{}
		most := 1 + random.Int64N(20)
		for range random.IntN(300) {
			place := low + random.Int64N(high-low+1)
			if len(up.values) > 0 && random.IntN(2) == 0 { // what comes on one day has numbers that lie together
				place = min(high, up.values[len(up.values)-1][0]+1)
			}
			used[place]++
			up.values = append(up.values, []int64{place})
		}
		crowded := int64(0)
		for _, n := range used {
			crowded = max(crowded, n)
		}
		parts, err := axis.Cut(most, up.count)
		if crowded > most {
			if fault.As(err).Code != fault.Capped {
				t.Fatalf("%d items have one value, %d are served: %v", crowded, most, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		checkParts(t, axis, up, parts, most)
	}
}

func checkParts(t *testing.T, axis Axis, up *shelf, parts []AxisPart, most int64) {
	t.Helper()
	if len(parts) == 0 || parts[0].From != axis.From || parts[len(parts)-1].To != axis.To {
		t.Fatalf("the parts do not reach from %s to %s: %v", axis.From, axis.To, parts)
	}
	for i, p := range parts {
		if n, _ := up.count(p); n > most || n != p.Count {
			t.Fatalf("%s has %d items, told as %d, and %d are served", p, n, p.Count, most)
		}
		if i == 0 {
			continue
		}
		before, _ := axis.place(parts[i-1].To)
		if from, _ := axis.place(p.From); from != before+1 {
			t.Fatalf("%s does not follow %s", p, parts[i-1])
		}
	}
}

// An axis that some items are not on, or are on twice, is refused: the window would count
// as read without them (I2).
func TestAxisThatDoesNotTellItemsApartIsRefused(t *testing.T) {
	for name, odd := range map[string][]int64{"none": {}, "beyond": {1001}, "two": {3, 990}} {
		t.Run(name, func(t *testing.T) {
			up := &shelf{axis: Axis{Field: "uid", From: "1", To: "1000"}, values: [][]int64{odd}}
			for place := int64(1); place <= 100; place++ {
				up.values = append(up.values, []int64{place * 10})
			}
			_, err := up.axis.Cut(20, up.count)
			if fault.As(err).Code != fault.Capped || !strings.Contains(err.Error(), "uid") {
				t.Errorf("cut all the same: %v", err)
			}
		})
	}
}

// An upstream whose bounds leave out what they name loses the items at every cut; the
// halves have fewer than the whole then.
func TestAxisWithOtherBoundsIsRefused(t *testing.T) {
	up := &shelf{axis: Axis{Field: "uid", From: "1", To: "1024"}}
	for place := int64(1); place <= 1024; place++ {
		up.values = append(up.values, []int64{place})
	}
	_, err := up.axis.Cut(100, func(s AxisPart) (int64, error) {
		n, _ := up.count(s)
		if s.To != "1024" && s.To != "" {
			n-- // the upper bound is not selected
		}
		return n, nil
	})
	if fault.As(err).Code != fault.Capped {
		t.Errorf("cut all the same: %v", err)
	}
}

// Items that come while they are counted are no reason to give up.
func TestAxisIsCountedAgainWhileItemsCome(t *testing.T) {
	up := &shelf{axis: Axis{Field: "uid", From: "1", To: "1024"}}
	for place := int64(1); place <= 1000; place++ {
		up.values = append(up.values, []int64{place})
	}
	parts, err := up.axis.Cut(100, func(s AxisPart) (int64, error) {
		if up.asked%5 == 4 && len(up.values) < 1010 {
			up.values = append(up.values, []int64{int64(len(up.values) + 1)})
		}
		return up.count(s)
	})
	if err != nil || parts[0].From != "1" || parts[len(parts)-1].To != "1024" {
		t.Error(parts, err)
	}
}

func TestAxisOfValues(t *testing.T) {
	up := &shelf{axis: Axis{Field: "letter", Values: []string{"1", "2", "3"}}, values: [][]int64{{1}, {1}, {3}}}
	parts, err := up.axis.Cut(2, up.count)
	if want := []AxisPart{{From: "1", Count: 2}, {From: "3", Count: 1}}; err != nil || !slices.Equal(parts, want) {
		t.Errorf("%v, %v", parts, err)
	}
	if _, err := up.axis.Cut(1, up.count); fault.As(err).Code != fault.Capped {
		t.Errorf("a value with too many items: %v", err)
	}
	up.values = append(up.values, []int64{4})
	if _, err := up.axis.Cut(2, up.count); fault.As(err).Code != fault.Capped {
		t.Errorf("an item with another value: %v", err)
	}
}

// A day of 60,000 articles whose numbers lie together costs few questions.
func TestAxisAsksLittle(t *testing.T) {
	up := &shelf{axis: Axis{Field: "uid", From: "1", To: "99999999"}}
	for i := range int64(60_000) {
		up.values = append(up.values, []int64{41_000_000 + i})
	}
	parts, err := up.axis.Cut(9999, up.count)
	if err != nil || len(parts) > 10 || up.asked > 60 {
		t.Errorf("%d parts after %d questions: %v", len(parts), up.asked, err)
	}
}

func TestAxisPassesErrorsOn(t *testing.T) {
	down := errors.New("down")
	for _, axis := range []Axis{{Field: "f", From: "1", To: "9"}, {Field: "f", Values: []string{"a"}}} {
		if _, err := axis.Cut(2, func(AxisPart) (int64, error) { return 0, down }); !errors.Is(err, down) {
			t.Error(err)
		}
	}
}

func TestAxisValidates(t *testing.T) {
	for name, c := range map[string]struct {
		axis Axis
		want string
	}{
		"numbers":  {Axis{Field: "f", From: "1", To: "9"}, ""},
		"dates":    {Axis{Field: "f", From: "1800-01-01", To: "2100-01-01"}, ""},
		"values":   {Axis{Field: "f", Values: []string{"a", "b"}}, ""},
		"no field": {Axis{From: "1", To: "9"}, "field is missing"},
		"nothing":  {Axis{Field: "f"}, "needs from and to"},
		"both":     {Axis{Field: "f", From: "1", To: "9", Values: []string{"a"}}, "either"},
		"mixed":    {Axis{Field: "f", From: "1", To: "2100-01-01"}, "both must be"},
		"reversed": {Axis{Field: "f", From: "9", To: "1"}, "holds nothing"},
		"twice":    {Axis{Field: "f", Values: []string{"a", "a"}}, "twice"},
	} {
		err := c.axis.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestAxisWalkGoesOn(t *testing.T) {
	walk := &AxisWalk{Cut: true, Left: []AxisPart{{From: "1", To: "4", Count: 2}, {From: "5", To: "9", Count: 3}}}
	first, ok := walk.InHand()
	if !ok || first.To != "4" || walk.Ended() {
		t.Fatal(first, ok)
	}
	walk = walk.Next(2).Next(4)
	counts := map[string]int64{"": 6, "1": 2, "5": 4}
	count := func(s AxisPart) (int64, error) { return counts[s.From], nil }
	again, err := walk.Prove(count)
	if _, ok := walk.InHand(); ok || !walk.Ended() || again != nil || err != nil {
		t.Errorf("%+v %+v %v", walk, again, err)
	}
	counts["5"] = 5
	if again, err = walk.Prove(count); err != nil || again == nil || len(again.Read) != 1 || !slices.Equal(again.Left, []AxisPart{{From: "5", To: "9", Count: 5}}) {
		t.Errorf("a part that changed: %+v %v", again, err)
	}
	counts["5"], counts[""] = 4, 7
	if _, err = walk.Prove(count); fault.As(err).Code != fault.ShortCount {
		t.Errorf("one item is in no part: %v", err)
	}
	if !walk.IsFurtherThan(nil) || !walk.IsFurtherThan(&AxisWalk{Cut: true}) || walk.IsFurtherThan(walk) || (&AxisWalk{Cut: true}).IsFurtherThan(nil) {
		t.Error("what is further?")
	}
	if day := (Axis{From: "1800-01-01"}).valueAt(-1); day != time.Unix(-86400, 0).UTC().Format(time.DateOnly) {
		t.Error(day)
	}
}

// A strategy that is not built says what does its work (S§0).
func TestStrategiesOfTheSpecificationSayWhatToUse(t *testing.T) {
	for strategy, want := range map[Strategy]string{CursorLandmark: "continues at its last token", VolumeBudget: "slicing.targetRecords", Hybrid: "slicing.second", "OTHER": "unknown"} {
		if err := (Config{Strategy: strategy}).WithDefaults().Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", strategy, err)
		}
	}
}

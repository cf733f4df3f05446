package slicing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/query"
)

// Axis is the `slicing.second` section: what a slice is cut by that holds more than the
// upstream serves of one query, and whose time cannot be cut finer (D§5.12). The slice stays
// one: its parts are read one after the other, and it is done when all of them are.
type Axis struct {
	Field  string   `json:"field" required:"true" doc:"query field that has exactly one value in every item, and that never changes, such as its number; it needs a RANGE rule, or an IN rule for values"`
	From   string   `json:"from,omitempty" doc:"lowest value of the field: a whole number, or a date such as 1800-01-01"`
	To     string   `json:"to,omitempty" doc:"highest value of the field, large enough for years to come"`
	Values []string `json:"values,omitempty" doc:"instead of from and to: all values of the field, one query each"`
}

// AxisPart is a part of an axis: the values from one to another, both included, or one value
// of a list. Count is how many items the upstream said it has.
type AxisPart struct {
	From  string `json:"from"`
	To    string `json:"to,omitempty"` // empty: From is one value of a list
	Count int64  `json:"count"`
}

// IsWhole reports that all of the window is meant, whatever the field is.
func (s AxisPart) IsWhole() bool { return s.From == "" && s.To == "" }

// String returns the part in words for messages.
func (s AxisPart) String() string {
	if s.To == "" {
		return strconv.Quote(s.From)
	}
	return s.From + " to " + s.To
}

// Condition returns what selects the items of a part.
func (a Axis) Condition(s AxisPart) query.Expr {
	if s.To == "" {
		return query.Is(query.Atom{Field: a.Field, Op: query.OpIn, In: query.List{Values: []string{s.From}}})
	}
	return query.Is(query.Atom{Field: a.Field, Op: query.OpRange, Range: query.Interval{
		Type: a.rangeType(), From: s.From, To: s.To, FromBoundary: query.Closed, ToBoundary: query.Closed,
	}})
}

// rangeType tells numbers from dates.
func (a Axis) rangeType() query.RangeType {
	if _, err := strconv.ParseInt(a.From, 10, 64); err == nil {
		return query.RangeNumber
	}
	return query.RangeDate
}

// Validate names what is wrong with the section.
func (a Axis) Validate() error {
	switch {
	case a.Field == "":
		return errors.New("slicing.second.field is missing: name a query field of which every item has one value")
	case len(a.Values) > 0 && (a.From != "" || a.To != ""):
		return errors.New("slicing.second has values and bounds: use either values, or from and to")
	case len(a.Values) > 0:
		return a.validateValues()
	case a.From == "" || a.To == "":
		return errors.New("slicing.second needs from and to, or values: say what the field can be")
	}
	from, errFrom := a.place(a.From)
	to, errTo := a.place(a.To)
	switch {
	case errFrom != nil || errTo != nil:
		return fmt.Errorf("slicing.second from %q to %q: both must be whole numbers, or both dates such as 1800-01-01", a.From, a.To)
	case from > to:
		return fmt.Errorf("slicing.second from %s to %s holds nothing", a.From, a.To)
	}
	return nil
}

func (a Axis) validateValues() error {
	known := map[string]bool{}
	for _, v := range a.Values {
		if v == "" || known[v] {
			return fmt.Errorf("slicing.second.values has %q, which is empty or there twice: its items would be counted twice", v)
		}
		known[v] = true
	}
	return nil
}

// place returns where on the axis a value stands, in steps of one number or one day.
func (a Axis) place(value string) (int64, error) {
	if a.rangeType() == query.RangeNumber {
		return strconv.ParseInt(value, 10, 64)
	}
	day, err := time.Parse(time.DateOnly, value)
	return day.Unix() / secondsOfDay, err
}

const secondsOfDay = 24 * 60 * 60

// valueAt returns the value that stands at a place.
func (a Axis) valueAt(place int64) string {
	if a.rangeType() == query.RangeNumber {
		return strconv.FormatInt(place, 10)
	}
	return time.Unix(place*secondsOfDay, 0).UTC().Format(time.DateOnly)
}

// Cut cuts the axis into parts of at most `most` items each, which tile it from one end
// to the other. count asks the upstream how many items of the window a part has; the zero
// part is all of the window.
//
// Halves must have as many items together as the whole: an item without the field, or with
// several values of it, would be read never or twice, so the window stays CAPPED then. Items
// come and go while they are counted, so counts that differ are taken again a few times.
func (a Axis) Cut(most int64, count func(AxisPart) (int64, error)) ([]AxisPart, error) {
	c := axisCut{Axis: a, most: most, count: count}
	parts := []AxisPart{{From: a.From, To: a.To}}
	if len(a.Values) > 0 {
		parts = parts[:0]
		for _, v := range a.Values {
			parts = append(parts, AxisPart{From: v})
		}
	}
	whole := AxisPart{}
	var err error
	if whole.Count, err = count(whole); err == nil {
		err = c.tile(whole, parts)
	}
	for i := 0; i < len(parts) && err == nil; i++ {
		err = c.bisect(parts[i])
	}
	return c.out, err
}

// axisCut is a cut in the making.
type axisCut struct {
	Axis
	most  int64
	count func(AxisPart) (int64, error)
	out   []AxisPart
}

// countTries is how often counts are taken that do not add up.
const countTries = 4

// tile counts the parts of a part until they have as many items as all of it.
func (c *axisCut) tile(whole AxisPart, parts []AxisPart) (err error) {
	sum := int64(0)
	for range countTries {
		sum = 0
		for i := range parts {
			if parts[i].Count, err = c.count(parts[i]); err != nil {
				return err
			}
			sum += parts[i].Count
		}
		if sum == whole.Count {
			return nil
		}
		if whole.Count, err = c.count(whole); err != nil || sum == whole.Count {
			return err
		}
	}
	return c.notTiled(whole, parts, sum)
}

// bisect takes a part, or both its halves if it has too many items. A value of a list
// that has no items is not read: should it get some, the count of the whole tells.
func (c *axisCut) bisect(s AxisPart) error {
	if s.Count <= c.most {
		c.join(s)
		return nil
	}
	from, _ := c.place(s.From)
	to, _ := c.place(s.To)
	if s.To == "" || from == to {
		return fault.Newf(fault.Capped, "%d items have %s %s, and the upstream serves only %d of a query: there is no finer cut", s.Count, c.Field, s, c.most)
	}
	middle := from + (to-from)/2
	halves := []AxisPart{{From: s.From, To: c.valueAt(middle)}, {From: c.valueAt(middle + 1), To: s.To}}
	if err := c.tile(s, halves); err != nil {
		return err
	}
	if err := c.bisect(halves[0]); err != nil {
		return err
	}
	return c.bisect(halves[1])
}

// join adds a part to the one before it if both together have few enough items, so that
// empty ones cost no request of their own. Values of a list are not joined. A tenth is left for items that come meanwhile.
func (c *axisCut) join(s AxisPart) {
	if s.To == "" {
		if s.Count > 0 {
			c.out = append(c.out, s)
		}
		return
	}
	if len(c.out) > 0 {
		last := &c.out[len(c.out)-1]
		if s.Count == 0 || last.Count == 0 || last.Count+s.Count <= c.most-c.most/10 {
			last.To, last.Count = s.To, last.Count+s.Count
			return
		}
	}
	c.out = append(c.out, s)
}

// notTiled returns the fault of an axis that does not tell every item from every other.
func (c *axisCut) notTiled(whole AxisPart, parts []AxisPart, sum int64) error {
	of, why := "the window", "some items have several values of this field"
	if !whole.IsWhole() {
		of = c.Field + " " + whole.String()
	}
	if sum < whole.Count {
		why = "some items have no value in this range"
	}
	return fault.Newf(fault.Capped, "%s has %d items, but %s %s to %s has %d (%s, or they change faster than they are counted): slicing.second cannot read each item exactly once",
		of, whole.Count, c.Field, parts[0].From, cmp.Or(parts[len(parts)-1].To, parts[len(parts)-1].From), sum, why)
}

// AxisWalk is how far a slice was read part by part. It is a plain value that a batch
// stores.
type AxisWalk struct {
	Cut    bool       `json:"cut,omitempty"`    // the parts are known
	Left   []AxisPart `json:"left,omitempty"`   // still to be read, the one in hand first
	Read   []AxisPart `json:"read,omitempty"`   // with the items they had while they were served
	Rounds int        `json:"rounds,omitempty"` // how often parts that had changed were read again
}

// InHand returns the part that is being read; ok is false before the axis is cut and
// after its last part.
func (w *AxisWalk) InHand() (s AxisPart, ok bool) {
	if w == nil || len(w.Left) == 0 {
		return s, false
	}
	return w.Left[0], true
}

// Ended reports that every part was read.
func (w *AxisWalk) Ended() bool { return w != nil && w.Cut && len(w.Left) == 0 }

// Next returns the walk behind the part in hand, which had so many items.
func (w *AxisWalk) Next(total int64) *AxisWalk {
	next := *w
	read := w.Left[0]
	read.Count = total
	next.Left, next.Read = w.Left[1:], append(slices.Clip(w.Read), read)
	return &next
}

// IsFurtherThan reports whether more parts were read than by another walk.
func (w *AxisWalk) IsFurtherThan(other *AxisWalk) bool {
	return w != nil && len(w.Read) > 0 && (other == nil || len(w.Read) > len(other.Read))
}

// maxRounds is how often parts are read again that change while others are read.
const maxRounds = 5

// Prove counts all parts once more, and then the window. A part that has another
// number of items than when it was read is to be read again; the walk that is returned has
// those left. Nil: there are none, and the parts are all of the window.
func (w *AxisWalk) Prove(count func(AxisPart) (int64, error)) (again *AxisWalk, err error) {
	next := AxisWalk{Cut: true, Rounds: w.Rounds + 1}
	sum := int64(0)
	for _, s := range w.Read {
		now, err := count(s)
		if err != nil {
			return nil, err
		}
		if sum += now; now == s.Count {
			next.Read = append(next.Read, s)
			continue
		}
		next.Left = append(next.Left, AxisPart{From: s.From, To: s.To, Count: now})
	}
	whole, err := count(AxisPart{})
	switch {
	case err != nil:
		return nil, err
	case len(next.Left) == 0 && whole == sum:
		return nil, nil
	case len(next.Left) == 0:
		return nil, fault.Newf(fault.ShortCount, "the window was read in parts (slicing.second) that have %d items together, and the upstream counts %d in all of it: it is read once more", sum, whole)
	case next.Rounds > maxRounds:
		return nil, fault.Newf(fault.Unstable, "parts of the window (slicing.second) were read %d times, and each time others had changed meanwhile", next.Rounds)
	}
	return &next, nil
}

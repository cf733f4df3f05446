package upsim

import (
	"cmp"
	"slices"
)

func byStamp(a, b item) int {
	if c := cmp.Compare(a.indexed, b.indexed); c != 0 {
		return c
	}
	return cmp.Compare(a.seq, b.seq)
}

// putItem and cutItem replace the slice of a day instead of changing it: walks that
// began earlier keep reading the old one, which makes a snapshot free. The
// caller holds the write lock.
func (d *Dataset) putItem(it item) {
	day := dayOf(it.indexed)
	old, known := d.days[day]
	at, _ := slices.BinarySearchFunc(old, it, byStamp)
	fresh := make([]item, 0, len(old)+1)
	fresh = append(append(append(fresh, old[:at]...), it), old[at:]...)
	d.days[day] = fresh
	if !known {
		at, _ := slices.BinarySearch(d.keys, day)
		d.keys = slices.Insert(d.keys, at, day)
	}
	d.stamps[it.seq] = it.indexed
	d.size++
}

func (d *Dataset) cutItem(it item) {
	day := dayOf(it.indexed)
	old := d.days[day]
	at, _ := slices.BinarySearchFunc(old, it, byStamp)
	fresh := make([]item, 0, len(old)-1)
	d.days[day] = append(append(fresh, old[:at]...), old[at+1:]...)
	d.stamps[it.seq] = gone
	d.size--
}

// findItem looks a work up by its number. The caller holds a lock.
func (d *Dataset) findItem(seq uint32) (item, bool) {
	if int(seq) >= len(d.stamps) || d.stamps[seq] == gone {
		return item{}, false
	}
	key := item{indexed: d.stamps[seq], seq: seq}
	day := d.days[dayOf(key.indexed)]
	at, ok := slices.BinarySearchFunc(day, key, byStamp)
	if !ok {
		return item{}, false
	}
	return day[at], true
}

type ordering int

const (
	byScore ordering = iota // arbitrary but fixed
	byIndexedAsc
	byIndexedDesc
)

// view is a frozen selection of works in one order.
type view struct {
	days   [][]item
	starts []int // position of the first work of each day
	total  int
	order  ordering
}

// freezeView freezes the works stamped in the seconds from first to last, both
// included.
func (d *Dataset) freezeView(first, last int64, order ordering) view {
	d.mu.RLock()
	defer d.mu.RUnlock()
	v := view{order: order}
	at, _ := slices.BinarySearch(d.keys, dayOf(first))
	for _, day := range d.keys[at:] {
		if day > dayOf(last) {
			break
		}
		if works := stampedWithin(d.days[day], first, last); len(works) > 0 {
			v.days = append(v.days, works)
			v.starts = append(v.starts, v.total)
			v.total += len(works)
		}
	}
	return v
}

// stampedWithin returns the part of a day stamped from first to last. It shares the
// day's memory, which nobody writes to.
func stampedWithin(works []item, first, last int64) []item {
	stamped := func(it item, second int64) int { return cmp.Compare(it.indexed, second) }
	from, _ := slices.BinarySearchFunc(works, first, stamped)
	to := len(works)
	if last < anyTimeTo {
		to, _ = slices.BinarySearchFunc(works, last+1, stamped)
	}
	if from >= to {
		return nil
	}
	return works[from:to:to]
}

// itemAt gives the i-th work of the view.
func (v view) itemAt(i int) item {
	if v.order == byIndexedDesc {
		i = v.total - 1 - i
	}
	day, found := slices.BinarySearch(v.starts, i)
	if !found {
		day--
	}
	works := v.days[day]
	i -= v.starts[day]
	if v.order == byScore {
		i = (i*strideOf(len(works)) + len(works)/2) % len(works)
	}
	return works[i]
}

// strideOf gives a step that visits every place of a day once: it has no common
// factor with n, and it is far from 1, so that neighbours in time are apart.
func strideOf(n int) int {
	step := n*5/8 + 1
	for commonDivisor(step, n) != 1 {
		step++
	}
	return step
}

func commonDivisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

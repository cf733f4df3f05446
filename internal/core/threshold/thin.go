package threshold

import (
	"slices"
	"time"
)

// Day is how many items a whole day in UTC had when it was last read.
type Day struct {
	Start time.Time
	Items int64
}

// ThinDay is a day with far fewer items than the same weekday usually has.
type ThinDay struct {
	Day
	Usual int64
}

// How days are judged. Sources rest at weekends, so a day is compared with the same weekday of
// the weeks before; where those had few items, chance alone makes a day thin.
const (
	thinWeeks  = 5   // that are compared with
	thinPeers  = 3   // of them must be known
	thinUsual  = 100 // items at least
	thinInARow = 5   // days that no holiday explains
	thinJudged = 7   // the newest days: what is older is told by coverage show

	// ThinHistory is how many days Thin wants to know: those judged, those that may be in a
	// row with them, and the weeks before.
	ThinHistory = 2*thinJudged + 7*thinWeeks
	// ThinGlance is how many days MayBeThin wants to know.
	ThinGlance = 3 * thinJudged
)

// Thin lists which of the newest days hold less than a share of what the same weekday usually
// has. A day that is like the quietest of the last weeks may be a holiday: it counts where it
// has not even half of that, or where a working week is like it. Days are in order, and one
// that is missing is not known.
func Thin(days []Day, share float64) (thin []ThinDay) {
	low, quietest, judged := lowDays(days, share)
	row := map[int]int{} // by the index of its last day: the length of a row
	for i, n := 0, 0; i < len(days); i++ {
		if judged[i] && low[i] == 0 {
			n = 0
		}
		if low[i] > 0 {
			n++
		}
		row[i] = n
	}
	longest := 0
	for i, d := range slices.Backward(days) {
		if longest = max(longest, row[i]); judged[i] && low[i] == 0 {
			longest = 0
		}
		if !d.Start.After(days[len(days)-1].Start.AddDate(0, 0, -thinJudged)) {
			break
		}
		if low[i] > 0 && (2*d.Items < quietest || longest >= thinInARow) {
			thin = append(thin, ThinDay{d, low[i]})
		}
	}
	slices.Reverse(thin)
	return thin
}

// lowDays returns what low days usually have, the items of the quietest day that is not low,
// and which days could be judged.
func lowDays(days []Day, share float64) (usual []int64, quietest int64, judged []bool) {
	items := map[int64]int64{}
	for _, d := range days {
		items[d.Start.Unix()] = d.Items
	}
	usual, judged, quietest = make([]int64, len(days)), make([]bool, len(days)), -1
	for i, d := range days {
		var peers []int64
		for week := 1; week <= thinWeeks; week++ {
			if n, known := items[d.Start.AddDate(0, 0, -7*week).Unix()]; known {
				peers = append(peers, n)
			}
		}
		slices.Sort(peers)
		if len(peers) >= thinPeers && peers[(len(peers)-1)/2] >= thinUsual {
			judged[i] = true
			if median := peers[(len(peers)-1)/2]; float64(d.Items) < share*float64(median) {
				usual[i] = median
				continue
			}
		}
		if quietest < 0 || d.Items < quietest {
			quietest = d.Items
		}
	}
	return usual, quietest, judged
}

// MayBeThin reports whether days have to be looked at closely: one of the newest has less than a
// share of what the same weekday had in one of the two weeks before. It needs few days, and
// most sources are done with that.
func MayBeThin(days []Day, share float64) bool {
	items := map[int64]int64{}
	for _, d := range days {
		items[d.Start.Unix()] = d.Items
	}
	for _, d := range days {
		if !d.Start.After(days[len(days)-1].Start.AddDate(0, 0, -thinJudged)) {
			continue
		}
		most := max(items[d.Start.AddDate(0, 0, -7).Unix()], items[d.Start.AddDate(0, 0, -14).Unix()])
		if most >= thinUsual && float64(d.Items) < share*float64(most) {
			return true
		}
	}
	return false
}

package coverage

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Counted is how many items a window had when it was last read.
type Counted struct {
	Window window.Window `json:"window"`
	Items  int64         `json:"items"`
}

// A day is thin if it had less than a quarter of what the same weekday had in the three weeks before and after. Sources
// rest at weekends, so other weekdays would tell nothing; below a few items chance alone makes a day thin.
const (
	thinWeeks   = 3
	thinPeers   = 3
	thinLeast   = 20
	thinQuarter = 4
)

// Thin lists the days that had far fewer items than their neighbours: an upstream that answers with half of what it has
// leaves no other trace. Days are whole days in UTC that were read to their end.
func Thin(days []Counted) (thin []Counted) {
	items := make(map[int64]int64, len(days))
	for _, d := range days {
		items[d.Window.From.Unix()] = d.Items
	}
	const week = int64(7 * 24 * time.Hour / time.Second)
	for _, d := range days {
		var peers []int64
		for n := int64(-thinWeeks); n <= thinWeeks; n++ {
			if count, known := items[d.Window.From.Unix()+n*week]; known && n != 0 {
				peers = append(peers, count)
			}
		}
		if len(peers) < thinPeers {
			continue
		}
		slices.Sort(peers)
		if usual := peers[len(peers)/2]; usual >= thinLeast && thinQuarter*d.Items < usual {
			thin = append(thin, Counted{d.Window, d.Items})
		}
	}
	return thin
}

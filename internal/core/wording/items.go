package wording

import (
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// OutsideText tells what lay outside: dropped where the list is filtered here, kept
// where the upstream chose it (D§5.11).
func OutsideText(dropped, kept int) string {
	text := fmt.Sprintf("%d outside the window", dropped+kept)
	switch {
	case kept > 0 && dropped > 0:
		text += fmt.Sprintf(" (%d of them kept)", kept)
	case kept > 0:
		text += " (kept)"
	}
	return text
}

// ExcludedText tells what a rule of the source left out; nothing where nothing was.
func ExcludedText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d left out by response.where", n)
}

// ParentsText tells which stored records were asked for one by one, and why; nothing where all of them are.
func ParentsText(t ingest.ParentTally) string {
	var parts []string
	for _, part := range []struct {
		n    int
		name string
	}{{t.Changed, "changed"}, {t.New, "new"}, {t.Turn, "in their turn"}, {t.Other, "with all others, or owed"}} {
		if part.n != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.name))
		}
	}
	return strings.Join(parts, ", ")
}

// ItemsText says what became of every item seen, and what nobody accounts for (I4).
func ItemsText(s ingest.BatchStats) string {
	var parts []string
	total := 0
	for _, part := range []struct {
		n    int
		name string
	}{
		{s.Inserted, "new"}, {s.Updated, "updated"}, {s.Unchanged, "unchanged"}, {s.Gone, "gone"}, {s.Stale, "stale"},
		{s.Duplicate, "duplicate"}, {s.Outside, "outside the window"}, {s.Excluded, "left out"}, {s.Quarantined, "rejected"},
	} {
		total += part.n
		if part.n != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.name))
		}
	}
	text := fmt.Sprintf("%d seen", s.Seen)
	if len(parts) > 0 {
		text += " = " + strings.Join(parts, " + ")
	}
	if s.OutsideKept > 0 {
		text += fmt.Sprintf("; %d of them outside of what was asked for, kept", s.OutsideKept)
	}
	if s.Late > 0 {
		text += fmt.Sprintf("; %d came late", s.Late)
	}
	if s.Swept > 0 {
		text += fmt.Sprintf("; %d came below records that had not changed", s.Swept)
	}
	if !s.Balanced() {
		text += fmt.Sprintf("; DOES NOT ADD UP: %d are not accounted for", s.Seen-total)
	}
	return text
}

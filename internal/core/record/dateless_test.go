package record

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Files that hold versions of a record and its deletions come to the same whatever order they are read in: the newest
// file decides, and a deletion wins over a version of the same file (I3).
func TestDatelessDeletionsAreOrderedByTheirFile(t *testing.T) {
	day := func(n int) time.Time { return t0.AddDate(0, 0, n) }
	rapid.Check(t, func(t *rapid.T) {
		var all []Incoming
		updated := 0
		for n := range rapid.IntRange(1, 8).Draw(t, "files") {
			updated += rapid.IntRange(0, 1).Draw(t, "changed")
			kind := rapid.SampledFrom([]string{"version", "deletion", "both"}).Draw(t, "kind")
			if kind != "deletion" {
				all = append(all, Incoming{ProviderID: "a", UpdatedAt: day(updated), ContentHash: Digest{byte(n + 1)}, FetchAt: day(n)})
			}
			if kind != "version" {
				all = append(all, Incoming{ProviderID: "a", Gone: true, Dateless: true, FetchAt: day(n)})
			}
		}
		last := all[len(all)-1]
		var head *Head
		for _, in := range rapid.Permutation(all).Draw(t, "order") {
			switch action := Decide(head, in); action {
			case Insert, Update, Remove, Touch:
				merged := Inherit(head, in)
				next := headOf(merged)
				next.ContentHash = merged.ContentHash
				head = next
			}
		}
		if gone := head.State == Gone; gone != last.Gone || !gone && head.ContentHash != last.ContentHash {
			t.Fatalf("%+v, and the newest file has %+v", head, last)
		}
	})
}

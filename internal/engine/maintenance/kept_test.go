package maintenance

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/retention"
)

func eventRow(id int64, text string) retention.Row {
	return retention.Row{ID: id, Columns: []byte(fmt.Sprintf(`{"is":%q}`, text))}
}

// Whatever is kept and whatever the files hold, page by page the same is found as
// with all of it in memory, and no more than a page is held.
func TestKeptEventsAreReadInPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const page = 3
		word := rapid.SampledFrom([]string{"a", "b"})
		kept := map[int64]string{}
		for _, id := range rapid.SliceOfDistinct(rapid.Int64Range(1, 20), rapid.ID[int64]).Draw(t, "kept") {
			kept[id] = word.Draw(t, "kept text")
		}
		filed := rapid.SliceOf(rapid.Int64Range(1, 20)).Draw(t, "filed") // one twice: a snapshot ends a file and begins the next
		slices.Sort(filed)
		found, equal := map[int64]bool{}, map[int64]bool{}
		k := &keptEvents{read: func(after int64) (out []retention.Row, err error) {
			for id := after + 1; id <= 20 && len(out) < page; id++ {
				if text, is := kept[id]; is {
					out = append(out, eventRow(id, text))
				}
			}
			return out, nil
		}}
		for _, id := range filed {
			text := word.Draw(t, "text")
			found[id], equal[id] = true, equal[id] || text == kept[id]
			if err := k.meetRow(eventRow(id, text)); err != nil {
				t.Fatal(err)
			}
			if len(k.page) > page {
				t.Fatalf("%d rows are held", len(k.page))
			}
		}
		var want []string
		for id := int64(1); id <= 20; id++ {
			switch _, is := kept[id]; {
			case is && !found[id]:
				want = append(want, fmt.Sprintf("event %d stands before the snapshot and is in no file", id))
			case is && !equal[id]:
				want = append(want, fmt.Sprintf("event %d in the database is not the one that was archived", id))
			}
		}
		got, err := k.restUnmatched()
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("found %q, want %q (%v)", got, want, err)
		}
	})
}

func TestFewOfManyStrangeEventsAreNamed(t *testing.T) {
	next := int64(0)
	k := &keptEvents{read: func(after int64) ([]retention.Row, error) {
		if next = after + 1; next > 100 {
			return nil, nil
		}
		return []retention.Row{eventRow(next, "a")}, nil
	}}
	if got, err := k.restUnmatched(); err != nil || len(got) != mostStrange+1 || got[mostStrange] != "and 80 more events do not fit" {
		t.Errorf("%q, %v", got, err)
	}
}

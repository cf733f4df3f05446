package record

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A deletion that is announced for a record nobody stored is remembered: an older
// copy that arrives later stays dead (I3), a newer one lives.
func TestBelieve07AnAnnouncedDeletionIsRemembered(t *testing.T) {
	deleted := Incoming{ProviderID: "a", Gone: true, UpdatedAt: t0, FetchAt: t0.Add(time.Hour)}
	if got := Decide(nil, deleted); got != Remove {
		t.Fatalf("the deletion of an unknown record is %s", got)
	}
	tombstone := &Head{ProviderID: "a", State: Gone, UpdatedAt: t0, FetchAt: t0.Add(time.Hour), Version: 1}
	for name, c := range map[string]struct {
		stamp time.Time
		want  Action
	}{
		"older": {t0.Add(-time.Minute), Stale},
		"newer": {t0.Add(time.Minute), Update},
	} {
		if got := Decide(tombstone, Incoming{ProviderID: "a", UpdatedAt: c.stamp, FetchAt: t0.Add(2 * time.Hour), ContentHash: hash(7)}); got != c.want {
			t.Errorf("a copy that is %s: %s, want %s", name, got, c.want)
		}
	}
}

// Whatever the order in which copies and deletions of one record arrive, and however
// often: the one with the newest stamp decides.
func TestBelieve07TheNewestStampDecidesInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answers := make([]Incoming, rapid.IntRange(1, 6).Draw(t, "answers"))
		for i := range answers {
			answers[i] = Incoming{
				UpdatedAt: t0.Add(time.Duration(i) * time.Minute), FetchAt: t0.Add(time.Duration(rapid.IntRange(0, 9).Draw(t, "asked")) * time.Hour),
				ContentHash: hash(byte(i + 1)), Gone: rapid.Bool().Draw(t, "gone"),
			}
		}
		var s store
		for _, i := range arrivals(t, len(answers)) {
			s.take(answers[i])
		}
		last := answers[len(answers)-1]
		if gone := s.head.State == Gone; gone != last.Gone || !s.head.UpdatedAt.Equal(last.UpdatedAt) {
			t.Fatalf("stored %+v, the last of %+v decides", s.head, answers)
		}
	})
}

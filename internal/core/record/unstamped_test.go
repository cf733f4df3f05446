package record

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// store keeps one record the way a store does.
type store struct{ head *Head }

func (s *store) take(in Incoming) Action {
	action := Decide(s.head, in)
	switch action {
	case Insert, Update, Remove, Touch:
		in = Inherit(s.head, in)
		next := Head{UpdatedAt: in.UpdatedAt, SourceVersion: in.SourceVersion, ContentHash: in.ContentHash, FetchAt: in.FetchAt, State: Active, MappingID: in.MappingID}
		if in.Gone {
			next.State = Gone
		}
		if action == Touch {
			next.ContentHash, next.State = s.head.ContentHash, s.head.State
		}
		s.head = &next
	}
	return action
}

func arrivals(t *rapid.T, n int) []int {
	order := rapid.Permutation(indexes(n)).Draw(t, "order")
	return append(order, rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 10).Draw(t, "again")...)
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// D§5.13 without updatedAt: whatever order the answers arrive in, and however
// often, what is stored is the answer with the highest version, and among
// those the one that was asked for last.
func TestWithoutDatesTheLatestAnswerWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		versioned := rapid.Bool().Draw(t, "versioned")
		answers := make([]Incoming, rapid.IntRange(1, 6).Draw(t, "answers"))
		want := 0
		for i := range answers {
			answers[i] = Incoming{
				FetchAt: t0.Add(time.Duration(i) * time.Minute), ContentHash: hash(byte(rapid.IntRange(1, 3).Draw(t, "content"))),
				Gone: rapid.IntRange(0, 4).Draw(t, "gone") == 0,
			}
			if versioned {
				answers[i].SourceVersion = int64(rapid.IntRange(1, 3).Draw(t, "version"))
			}
			if answers[i].SourceVersion >= answers[want].SourceVersion {
				want = i
			}
		}
		var s store
		for _, i := range arrivals(t, len(answers)) {
			s.take(answers[i])
			if again := s.take(answers[i]); again != Unchanged && again != Stale {
				t.Fatalf("taking an answer twice: %s", again)
			}
		}
		if gone := s.head.State == Gone; gone != answers[want].Gone || !gone && s.head.ContentHash != answers[want].ContentHash {
			t.Fatalf("stored %+v, want answer %d of %+v", s.head, want, answers)
		}
	})
}

// An answer without a date between answers with one must not let the record go
// back behind the date it had.
func TestMissingDatesNeverLetARecordGoBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answers := make([]Incoming, rapid.IntRange(1, 6).Draw(t, "answers"))
		for i := range answers {
			answers[i] = Incoming{FetchAt: t0.Add(time.Duration(i) * time.Minute), ContentHash: hash(byte(rapid.IntRange(1, 4).Draw(t, "content")))}
			if rapid.Bool().Draw(t, "dated") {
				answers[i].UpdatedAt = t0.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "stamp")) * time.Hour)
			}
		}
		var s store
		var newest time.Time
		for _, i := range arrivals(t, len(answers)) {
			action := s.take(answers[i])
			if dated := !answers[i].UpdatedAt.IsZero(); dated && action == Update && answers[i].UpdatedAt.Before(newest) {
				t.Fatalf("%v was stored over content of %v", answers[i].UpdatedAt, newest)
			}
			if s.head.UpdatedAt.Before(newest) {
				t.Fatalf("the head forgot %v and says %v", newest, s.head.UpdatedAt)
			}
			newest = s.head.UpdatedAt
			if again := s.take(answers[i]); again != Unchanged && again != Stale {
				t.Fatalf("taking an answer twice: %s", again)
			}
		}
	})
}

func TestInheritKeepsWhatIsKnown(t *testing.T) {
	head := &Head{UpdatedAt: t0, SourceVersion: 3}
	for name, tc := range map[string]struct {
		in          Incoming
		wantStamp   time.Time
		wantVersion int64
	}{
		"says nothing":          {Incoming{}, t0, 3},
		"says its version":      {Incoming{SourceVersion: 4}, t0, 4},
		"says the same date":    {Incoming{UpdatedAt: t0}, t0, 3},
		"says a newer date":     {Incoming{UpdatedAt: t0.Add(1)}, t0.Add(1), 0},
		"says date and version": {Incoming{UpdatedAt: t0.Add(1), SourceVersion: 1}, t0.Add(1), 1},
	} {
		if got := Inherit(head, tc.in); !got.UpdatedAt.Equal(tc.wantStamp) || got.SourceVersion != tc.wantVersion {
			t.Errorf("%s: %v version %d", name, got.UpdatedAt, got.SourceVersion)
		}
	}
	if got := Inherit(nil, Incoming{}); !got.UpdatedAt.IsZero() {
		t.Error("a new record inherits nothing")
	}
}

package dispatch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

var noon = time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC)

// partition is an open one with room for two tasks.
func partition(id int64, priority int, change ...func(*ingest.Queue)) ingest.Queue {
	q := ingest.Queue{PartitionID: id, Priority: priority, MaxConcurrent: 2}
	for _, apply := range change {
		apply(&q)
	}
	return q
}

func paused(q *ingest.Queue) { q.Paused = true }
func cooling(until time.Time) func(*ingest.Queue) {
	return func(q *ingest.Queue) { q.CoolingUntil = until }
}
func running(n int) func(*ingest.Queue) { return func(q *ingest.Queue) { q.Running = n } }

func ids(queues []ingest.Queue) string {
	var out []string
	for _, q := range queues {
		out = append(out, fmt.Sprint(q.PartitionID))
	}
	return strings.Join(out, " ")
}

func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name   string
		queues []ingest.Queue
		last   int64
		want   string
	}{
		{"nothing", nil, 0, ""},
		{"one", []ingest.Queue{partition(1, 10)}, 1, "1"},
		{"best priority first", []ingest.Queue{partition(1, 90), partition(2, 10), partition(3, 50)}, 0, "2 3 1"},
		{"priority before rotation", []ingest.Queue{partition(1, 10), partition(2, 90)}, 1, "1 2"},
		{"rotation starts after the last", []ingest.Queue{partition(1, 10), partition(2, 10), partition(3, 10)}, 2, "3 1 2"},
		{"rotation wraps", []ingest.Queue{partition(1, 10), partition(2, 10), partition(3, 10)}, 3, "1 2 3"},
		{"rotation within each priority", []ingest.Queue{partition(1, 10), partition(2, 90), partition(3, 10), partition(4, 90)}, 2, "3 1 4 2"},
		{"the last one is gone", []ingest.Queue{partition(1, 10), partition(5, 10)}, 3, "5 1"},
		{"input order does not matter", []ingest.Queue{partition(3, 10), partition(1, 10), partition(2, 10)}, 1, "2 3 1"},
		{"paused", []ingest.Queue{partition(1, 10, paused), partition(2, 90)}, 0, "2"},
		{"cooling down", []ingest.Queue{partition(1, 10, cooling(noon.Add(time.Microsecond))), partition(2, 90)}, 0, "2"},
		{"cooled down", []ingest.Queue{partition(1, 10, cooling(noon)), partition(2, 90)}, 0, "1 2"},
		{"at its limit", []ingest.Queue{partition(1, 10, running(2)), partition(2, 90)}, 0, "2"},
		{"over its limit", []ingest.Queue{partition(1, 10, running(5)), partition(2, 90)}, 0, "2"},
		{"below its limit", []ingest.Queue{partition(1, 10, running(1)), partition(2, 90)}, 0, "1 2"},
		{"all closed", []ingest.Queue{partition(1, 10, paused), partition(2, 10, running(2)), partition(3, 10, cooling(noon.Add(time.Hour)))}, 0, ""},
	} {
		if got := ids(Order(c.queues, Rotation{10: c.last, 50: c.last, 90: c.last}, noon)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Nobody among equals waits longer than one round.
func TestRotationIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var queues []ingest.Queue
		for _, id := range rapid.SliceOfNDistinct(rapid.Int64Range(1, 40), 1, 8, rapid.ID).Draw(t, "partitions") {
			queues = append(queues, partition(id, 10))
		}
		last := rapid.Int64Range(0, 41).Draw(t, "last")
		served := map[int64]int{}
		for range 3 * len(queues) {
			last = Order(queues, Rotation{10: last}, noon)[0].PartitionID
			served[last]++
		}
		for _, q := range queues {
			if served[q.PartitionID] != 3 {
				t.Fatalf("partition %d was served %d times in 3 rounds: %v", q.PartitionID, served[q.PartitionID], served)
			}
		}
	})
}

// An urgent partition that has work now and then does not set back the turn of
// the others: one turn for all would serve the partition after it again and again.
func TestUrgentWorkDoesNotStarveOthers(t *testing.T) {
	queues := []ingest.Queue{partition(5, 10)}
	for id := int64(1); id <= 9; id++ {
		if id != 5 {
			queues = append(queues, partition(id, 90))
		}
	}
	turns, served := Rotation{}, map[int64]int{}
	for range 16 {
		for _, rest := range [][]ingest.Queue{queues, queues[1:]} { // with and without urgent work
			q := Order(rest, turns, noon)[0]
			turns[q.Priority] = q.PartitionID
			served[q.PartitionID]++
		}
	}
	for id, n := range served {
		if want := map[bool]int{true: 16, false: 2}[id == 5]; n != want {
			t.Errorf("partition %d was served %d times, want %d: %v", id, n, want, served)
		}
	}
}

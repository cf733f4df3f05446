package generation_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/record"
)

// pagesOf packs ids into pages of three, some of them twice.
func pagesOf(ids []uint64) generation.Pages {
	return func(take func([]byte)) error {
		for page := range slices.Chunk(ids, 3) {
			var packed []byte
			for _, id := range append(slices.Clone(page), page[0]) {
				packed = binary.BigEndian.AppendUint64(packed, id)
			}
			take(packed)
		}
		return nil
	}
}

func setOf(ids ...[]uint64) map[uint64]bool {
	out := map[uint64]bool{}
	for _, id := range slices.Concat(ids...) {
		out[id] = true
	}
	return out
}

// Whatever there is room for at once, the comparison finds what a plain look at the sets finds.
func TestCompareFindsWhatThePlainSetsSay(t *testing.T) {
	some := rapid.SliceOf(rapid.Map(rapid.IntRange(0, 40), func(i int) uint64 { return uint64(i) * 0x0655_5555_5555_5555 }))
	rapid.Check(t, func(t *rapid.T) {
		fresh, last, shrunk := some.Draw(t, "new"), some.Draw(t, "last"), some.Draw(t, "shrunk")
		recent := rapid.SliceOfN(some, 0, 2).Draw(t, "recent")
		older := rapid.SliceOfN(some, 0, 3).Draw(t, "older")
		most := rapid.IntRange(0, 50).Draw(t, "mayBeGone")
		s := generation.Sets{New: pagesOf(fresh), Last: pagesOf(last), Shrunk: pagesOf(shrunk), MayBeGone: most,
			IDs: int64(rapid.IntRange(0, 500).Draw(t, "ids")), Room: rapid.IntRange(1, 20).Draw(t, "room")}
		for _, ids := range recent {
			s.Recent = append(s.Recent, pagesOf(ids))
		}
		for _, ids := range older {
			s.Older = append(s.Older, pagesOf(ids))
		}
		got, err := generation.Compare(s)
		if err != nil {
			t.Fatal(err)
		}
		want := generation.Counts{Items: int64(len(setOf(fresh))), Last: int64(len(setOf(last))), Shrunk: int64(len(setOf(shrunk)))}
		for id := range setOf(last) {
			if setOf(fresh)[id] {
				want.LastKept++
			}
		}
		for id := range setOf(shrunk) {
			if setOf(fresh)[id] {
				want.ShrunkKept++
			}
		}
		seen := setOf(append([][]uint64{fresh}, recent...)...)
		var gone []uint64
		for id := range setOf(older...) {
			if !seen[id] {
				gone = append(gone, id)
			}
		}
		slices.Sort(gone)
		want.Vanished = int64(len(gone))
		if len(gone) > most {
			gone = nil
		}
		if got.Counts != want || !slices.Equal(got.Gone, gone) {
			t.Fatalf("%+v, want %+v gone %v", got, want, gone)
		}
	})
}

func TestCompareTellsWhatCannotBeRead(t *testing.T) {
	broken := errors.New("gone")
	if _, err := generation.Compare(generation.Sets{New: pagesOf(nil), Last: func(func([]byte)) error { return broken }}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestIDsAreTheBeginningOfKeys(t *testing.T) {
	key := record.KeyOf("10.1/a")
	packed := generation.PackIDs([]record.Key{key})
	if binary.BigEndian.Uint64(packed) != generation.IDOf(key) {
		t.Error("a packed id is another one")
	}
	first, last := generation.KeyRange(generation.IDOf(key))
	if slices.Compare(first[:], key[:]) > 0 || slices.Compare(last[:], key[:]) < 0 || !slices.Equal(first[:8], last[:8]) {
		t.Errorf("%x is not between %x and %x", key, first, last)
	}
}

// manyIDs are n ids in pages of a thousand, without a list of them in memory.
func manyIDs(n int, missing int) generation.Pages {
	return func(take func([]byte)) error {
		page := make([]byte, 0, 8000)
		numbers := rand.New(rand.NewPCG(1, 2))
		for i := range n {
			id := numbers.Uint64()
			if i < missing {
				continue
			}
			if page = binary.BigEndian.AppendUint64(page, id); len(page) == 8000 {
				take(page)
				page = page[:0]
			}
		}
		take(page)
		return nil
	}
}

// Ten million ids of a list, compared with the two readings before it.
func BenchmarkCompareTenMillion(b *testing.B) {
	const n, lost = 10_000_000, 1000
	for b.Loop() {
		began, most := time.Now(), watchHeap()
		all := manyIDs(n, 0)
		got, err := generation.Compare(generation.Sets{New: manyIDs(n, lost), Last: manyIDs(n, lost), Recent: []generation.Pages{manyIDs(n, lost)}, Older: []generation.Pages{all}, IDs: 4 * n, MayBeGone: n / 10})
		if err != nil || got.Vanished != lost || len(got.Gone) != lost || got.Items != n-lost {
			b.Fatal(got.Counts, err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s")
		b.ReportMetric(float64(most())/(1<<20), "MB")
	}
}

// watchHeap returns a function that tells the most memory that was in use meanwhile.
func watchHeap() func() uint64 {
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		var peak uint64
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapSys-now.HeapReleased)
			select {
			case <-stop:
				most <- peak
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(stop); return <-most }
}

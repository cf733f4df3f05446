package storetest

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/access"
	"github.com/patra-ingest/patra/internal/testkit/storetest/alarm"
	"github.com/patra-ingest/patra/internal/testkit/storetest/archive"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
	"github.com/patra-ingest/patra/internal/testkit/storetest/ledger"
	"github.com/patra-ingest/patra/internal/testkit/storetest/outbox"
	"github.com/patra-ingest/patra/internal/testkit/storetest/registry"
)

// Steps are the steps whose answers LostAnswers loses, by the store's names.
func Steps() (names []string) {
	for _, l := range lossySteps() {
		names = append(names, l.Step)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func lossySteps() []fixture.Lossy {
	return slices.Concat(ledger.Lossy(), registry.Lossy(), outbox.Lossy(), alarm.Lossy(), access.Lossy(), archive.Lossy())
}

// lostAnswers holds every step to "done, but told it failed" (I8): a caller that
// repeats the call gets the answer it would have had, and the database is as if
// nothing had gone wrong.
func lostAnswers(t *testing.T, s fixture.Suite) {
	for _, l := range lossySteps() {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			calm, stormy := s.World(t), s.World(t)
			want, err := l.Prepare(calm)()
			calm.Must(err)

			call := l.Prepare(stormy)
			before := stormy.Tables()
			stormy.Wire.LoseNext(l.Step)
			if _, err := call(); !errors.Is(err, fixture.ErrLost) {
				t.Fatalf("the answer of %q was not lost: %v", l.Step, err)
			}
			if reflect.DeepEqual(before, stormy.Tables()) {
				t.Fatal("the step did nothing, so repeating it proves nothing")
			}
			stormy.SameTables("after the lost answer", calm.Tables(), stormy.Tables())
			got, err := call()
			stormy.Must(err)
			if batch, ok := got.(ingest.BatchResult); ok {
				batch.Repeated = false // the one thing that may differ
				got = batch
			}
			if want != nil && !reflect.DeepEqual(got, want) {
				t.Errorf("the repeated call gave\n%+v, undisturbed it gives\n%+v", got, want)
			}
			stormy.SameTables("after the repeated call", calm.Tables(), stormy.Tables())
			if stormy.Wire.Lost != 1 {
				t.Errorf("%d answers were lost", stormy.Wire.Lost)
			}
		})
	}
}

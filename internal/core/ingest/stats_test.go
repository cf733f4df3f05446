package ingest

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
)

// draw fills every number of a struct, so that a field added later is tested too.
func draw[T any](t *rapid.T, name string) T {
	var out T
	fill(t, name, reflect.ValueOf(&out).Elem())
	return out
}

func fill(t *rapid.T, name string, v reflect.Value) {
	for i := range v.NumField() {
		field := v.Field(i)
		if field.Kind() == reflect.Struct {
			fill(t, name, field)
			continue
		}
		if field.Kind() == reflect.Slice { // faults by code
			tally := FaultTally(nil).Count("L1", "NETWORK", rapid.IntRange(0, 9).Draw(t, name), 3).Count(
				"L4", rapid.SampledFrom([]string{"A", "B"}).Draw(t, name), rapid.IntRange(0, 9).Draw(t, name), 5)
			field.Set(reflect.ValueOf(tally))
			continue
		}
		if field.Type() == reflect.TypeFor[MemberTally]() {
			field.Set(reflect.ValueOf(drawMembers(t, name)))
			continue
		}
		if field.Kind() == reflect.Map { // answers by status
			field.Set(reflect.ValueOf(drawStatuses(t, name)))
			continue
		}
		if field.Kind() == reflect.Array {
			field.Index(rapid.IntRange(0, field.Len()-1).Draw(t, name)).SetInt(rapid.Int64Range(0, 1000).Draw(t, name))
			continue
		}
		if field.Kind() == reflect.String {
			field.SetString(rapid.StringMatching("[a-z]{0,3}").Draw(t, name+"."+v.Type().Field(i).Name))
			continue
		}
		field.SetInt(rapid.Int64Range(0, 1_000_000).Draw(t, name+"."+v.Type().Field(i).Name))
	}
}

// sumOf adds field by field without knowing their names.
func sumOf(a, b reflect.Value) reflect.Value {
	out := reflect.New(a.Type()).Elem()
	for i := range a.NumField() {
		if a.Field(i).Kind() == reflect.Struct {
			out.Field(i).Set(sumOf(a.Field(i), b.Field(i)))
			continue
		}
		if a.Field(i).Kind() == reflect.Slice {
			out.Field(i).Set(reflect.ValueOf(a.Field(i).Interface().(FaultTally).Add(b.Field(i).Interface().(FaultTally))))
			continue
		}
		if one, ok := a.Field(i).Interface().(MemberTally); ok { // its own test knows how
			out.Field(i).Set(reflect.ValueOf(one.Add(b.Field(i).Interface().(MemberTally))))
			continue
		}
		if a.Field(i).Kind() == reflect.Map {
			out.Field(i).Set(sumOfMaps(a.Field(i), b.Field(i)))
			continue
		}
		if a.Field(i).Kind() == reflect.Array {
			for k := range a.Field(i).Len() {
				out.Field(i).Index(k).SetInt(a.Field(i).Index(k).Int() + b.Field(i).Index(k).Int())
			}
			continue
		}
		if a.Field(i).Kind() == reflect.String { // one of them, whatever the order
			out.Field(i).SetString(max(a.Field(i).String(), b.Field(i).String()))
			continue
		}
		if a.Type().Field(i).Name == "SlowestMS" { // the one number that is no sum
			out.Field(i).SetInt(max(a.Field(i).Int(), b.Field(i).Int()))
			continue
		}
		out.Field(i).SetInt(a.Field(i).Int() + b.Field(i).Int())
	}
	return out
}

// sumOfMaps adds key by key; two that are not there are not there together.
func sumOfMaps(a, b reflect.Value) reflect.Value {
	if a.Len()+b.Len() == 0 {
		return reflect.Zero(a.Type())
	}
	out := reflect.MakeMap(a.Type())
	for _, of := range []reflect.Value{a, b} {
		for _, key := range of.MapKeys() {
			sum := of.MapIndex(key).Int()
			if before := out.MapIndex(key); before.IsValid() {
				sum += before.Int()
			}
			out.SetMapIndex(key, reflect.ValueOf(int(sum)))
		}
	}
	return out
}

// Totals of runs and plans are the sums of their parts (I4): no field is forgotten or mixed up.
func TestStatsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw[RunStats](t, "a"), draw[RunStats](t, "b")
		want := sumOf(reflect.ValueOf(a), reflect.ValueOf(b)).Interface()
		if got := a.Add(b); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v + %+v = %+v", a, b, got)
		}
		if !reflect.DeepEqual(a.Add(b), b.Add(a)) || !reflect.DeepEqual(a.Add(RunStats{}), a) {
			t.Fatalf("adding %+v and %+v depends on the order", a, b)
		}
	})
}

func TestBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw[BatchStats](t, "stats")
		s.Seen, s.Late, s.Swept, s.OutsideKept, s.Known = 0, 0, 0, 0, 0
		parts := reflect.ValueOf(s)
		numbers := parts.NumField() - 1 // what was missed stands last and is no part of the sum
		for i := range numbers {
			s.Seen += int(parts.Field(i).Int())
		}
		s.Late, s.Swept, s.Known = s.Inserted+s.Updated, s.Inserted+s.Updated, s.Quarantined // these are counted already
		s.OutsideKept = s.Seen - s.Outside - s.Excluded - s.Quarantined
		other := draw[BatchStats](t, "other")
		other.Seen = other.Inserted + other.Updated + other.Unchanged + other.Gone + other.Stale + other.Duplicate + other.Outside + other.Excluded + other.Quarantined
		other.Late, other.Swept, other.OutsideKept, other.Known = min(other.Late, other.Inserted), min(other.Swept, other.Updated), min(other.OutsideKept, other.Unchanged), min(other.Known, other.Quarantined)
		if !s.Balanced() || !s.Add(other).Balanced() {
			t.Fatalf("%+v and %+v add up", s, other)
		}
		// One item too many in any account is noticed.
		broken := s
		i := rapid.IntRange(0, numbers-1).Draw(t, "field")
		field := reflect.ValueOf(&broken).Elem().Field(i)
		field.SetInt(field.Int() + 1)
		if broken.Balanced() {
			t.Fatalf("%+v does not add up", broken)
		}
	})
}

// Stored stats are read back as they were.
func TestStatsKeepTheirNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := draw[RunStats](t, "stats")
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got RunStats
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %+v, %v", text, got, err)
		}
	})
}

// D§5.7: only a slice that was read to its end counts as read; what goes back
// to the queue says nothing.
func TestOutcomeCoverage(t *testing.T) {
	for status, want := range map[TaskStatus]coverage.Kind{
		TaskSucceeded: coverage.Succeeded, TaskFailed: coverage.Failed, TaskPartial: coverage.Failed, TaskCancelled: coverage.Failed,
		TaskQueued: "", TaskScheduled: "", TaskDispatched: "", TaskExecuting: "",
	} {
		if got := (Outcome{Task: status}).CoverageKind(); got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
		if status.Terminal() == ((Outcome{Task: status}).CoverageKind() == "") {
			t.Errorf("%s ends a task and leaves no event, or the reverse", status)
		}
	}
}

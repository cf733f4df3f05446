package planner

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

func drawWindow(t *rapid.T) window.Window {
	from := time.UnixMicro(rapid.Int64Range(-60_000_000_000_000_000, 250_000_000_000_000_000).Draw(t, "from")).UTC()
	return window.Window{From: from, To: from.Add(time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "length")) * time.Microsecond)}
}

// The texts written by hand are those that the encoders write.
func TestTextsOfSlicesAreThoseOfTheEncoders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var texts specTexts
		base := slicing.Spec{Strategy: slicing.TIME, Pagination: slicing.Pagination{Type: "TOKEN", Initial: map[string]string{"token": rapid.String().Draw(t, "token")}}}
		for range rapid.IntRange(1, 6).Draw(t, "slices") {
			s, w := base, drawWindow(t)
			s.Window = slicing.WindowSpec{From: w.From, To: w.To, Timezone: "UTC", Precision: rapid.SampledFrom([]string{"DAY", "SECOND"}).Draw(t, "precision")}
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				s.Window.Asked = &w
			case 1:
				s.Range, s.Window = &slicing.Range{Key: "id", From: "a", To: "b"}, slicing.WindowSpec{}
			case 2:
				s.Telemetry.Estimate = &slicing.Estimate{Count: rapid.Int64Range(0, 2).Draw(t, "count"), Source: slicing.FromCount}
			case 3:
				s.Hints.Order = rapid.SampledFrom([]string{"", "<b>", "1111-11-11T11:11:11.111111Z", "1222-12-22T22:22:22.222222Z"}).Draw(t, "order")
			}
			want, slow := json.Marshal(s)
			if got, err := texts.textOf(s); string(got) != string(want) || (err == nil) != (slow == nil) {
				t.Fatalf("%s (%v)\nwant %s (%v)", got, err, want, slow)
			}
			params, err := fingerprint.Canonical(map[string]string{"from": w.From.Format(time.RFC3339Nano), "to": w.To.Format(time.RFC3339Nano)})
			if got := taskParams(w); err != nil || string(got) != string(params) {
				t.Fatalf("%s, want %s (%v)", got, params, err)
			}
		}
	})
}

// Whatever is added to a specification has to be compared, or slices would be
// stored with the text of the first.
func TestAlikeLooksAtEveryField(t *testing.T) {
	filled := func() slicing.Spec {
		var s slicing.Spec
		s.Pagination.Initial = map[string]string{}
		return s
	}
	if !differInWindowOnly(filled(), filled()) {
		t.Fatal("a specification is not like itself")
	}
	var change func(at reflect.Value, name string, s *slicing.Spec)
	change = func(at reflect.Value, name string, s *slicing.Spec) {
		if at.Kind() == reflect.Struct && at.Type() != reflect.TypeFor[time.Time]() {
			for i := range at.NumField() {
				change(at.Field(i), name+"."+at.Type().Field(i).Name, s)
			}
			return
		}
		before := reflect.New(at.Type()).Elem()
		before.Set(at)
		switch at.Kind() {
		case reflect.String:
			at.SetString("x")
		case reflect.Int, reflect.Int64:
			at.SetInt(1)
		case reflect.Bool:
			at.SetBool(true)
		case reflect.Pointer:
			at.Set(reflect.New(at.Type().Elem()))
		case reflect.Map:
			at.Set(reflect.ValueOf(map[string]string{"token": "x"}))
		case reflect.Struct:
			at.Set(reflect.ValueOf(time.UnixMicro(1)))
		default:
			t.Fatalf("%s is a %s: say here how to change it", name, at.Kind())
		}
		bound := name == ".Window.From" || name == ".Window.To"
		if differInWindowOnly(filled(), *s) != bound || differInWindowOnly(*s, filled()) != bound {
			t.Errorf("%s is not told apart as it should", name)
		}
		at.Set(before)
	}
	s := filled()
	change(reflect.ValueOf(&s).Elem(), "", &s)
}

package slicing

import (
	"testing"
	"time"
)

func planned(estimates ...Estimate) (out Result) {
	for _, e := range estimates {
		s := Slice{}
		if !e.isUnknown() {
			s.Spec.Telemetry.Estimate = &e
		}
		out.Slices = append(out.Slices, s)
	}
	return out
}

func TestForecast(t *testing.T) {
	counted, remembered := Estimate{250, FromCount, true}, Estimate{100, FromHistory, false}
	search := Step{Endpoint: "works", Role: "SEARCH", PerRequest: 100, PerSecond: 2, PricePerRequest: 0.25}
	in := ForecastInputs{Steps: []Step{search}, AvgBytes: 1000, AvgBytesFrom: FromHistory}

	f := Forecast(planned(counted, counted, Estimate{0, FromCount, true}), in)
	check := func(name string, got, want Figure) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	check("items", f.Items, Figure{500, FromCount, false})
	check("requests", f.Requests, Figure{7, FromCount, false}) // 3 + 3 + one for nothing
	check("seconds", *f.Seconds, Figure{4, FromCount, false})
	check("bytes", *f.Bytes, Figure{500_000, FromHistory, false})
	check("bytes per item", *f.ItemBytes, Figure{1000, FromHistory, false})
	check("money", *f.Money, Figure{1.75, FromCount, false})

	search.Passes, search.Concurrency = 2, 2
	in.Steps, in.Latency, in.LatencyFrom, in.AvgBytesFrom = []Step{search}, 4*time.Second, FromHistory, FromConstant
	f = Forecast(planned(counted, remembered), in)
	check("two passes", f.Requests, Figure{8, FromHistory, false})
	check("slow upstream", *f.Seconds, Figure{16, FromHistory, false}) // 8 × 4 s over 2 connections
	check("assumed bytes", *f.Bytes, Figure{350_000, FromConstant, false})

	f = Forecast(planned(counted, Estimate{}), ForecastInputs{Steps: []Step{{PerRequest: 100}}, AvgBytes: 10, AvgBytesFrom: FromConstant})
	check("unknown", f.Requests, Figure{4, "", true})
	check("bytes of what is known", *f.Bytes, Figure{2500, "", true})
	if f.Seconds != nil || f.Money != nil {
		t.Errorf("figures out of nothing: %+v", f)
	}
	if f.Basis != (Basis{Counted: 1, Unknown: 1}) || f.Slices != 2 {
		t.Errorf("%+v", f)
	}
	if f = Forecast(planned(Estimate{}), in); f.Bytes != nil || f.ItemBytes != nil {
		t.Errorf("bytes of nobody knows what: %+v", f.Bytes)
	}
	if f = Forecast(Result{}, in); f.Requests != (Figure{0, FromCount, false}) {
		t.Errorf("nothing to do: %+v", f)
	}
}

// §4.6: a search for ids and the details of what it found, each at its own rate
// and price. What finds nothing asks for no details.
func TestForecastOfTwoSteps(t *testing.T) {
	steps := []Step{
		{Endpoint: "find", Role: "SEARCH", PerRequest: 1000, PerSecond: 1},
		{Endpoint: "read", Role: "DETAIL", PerRequest: 200, ByID: true, PerSecond: 5, PricePerRequest: 0.5},
	}
	f := Forecast(planned(Estimate{1500, FromCount, true}, Estimate{0, FromCount, true}, Estimate{201, FromHistory, false}, Estimate{}), ForecastInputs{Steps: steps})
	if len(f.Endpoints) != 2 {
		t.Fatalf("%+v", f)
	}
	find, read := f.Endpoints[0], f.Endpoints[1]
	if find.Requests.Value != 2+1+1+1 || read.Requests.Value != 8+0+2+0 || f.Requests.Value != 15 || !f.Requests.AtLeast {
		t.Errorf("requests %v and %v, together %v", find.Requests, read.Requests, f.Requests)
	}
	if find.Seconds.Value != 5 || read.Seconds.Value != 2 || f.Seconds.Value != 7 {
		t.Errorf("seconds %v and %v, together %v", find.Seconds, read.Seconds, f.Seconds)
	}
	if find.Money != nil || read.Money.Value != 5 || f.Money.Value != 5 {
		t.Errorf("money %v and %v, together %v", find.Money, read.Money, f.Money)
	}
	steps[0].PerSecond = 0
	if f = Forecast(planned(Estimate{1, FromCount, true}), ForecastInputs{Steps: steps}); f.Seconds != nil {
		t.Errorf("a duration without a rate: %v", f.Seconds)
	}
}

package slicing

import (
	"testing"
	"time"
)

func planned(estimates ...Estimate) (out Result) {
	for _, e := range estimates {
		s := Slice{}
		if !e.unknown() {
			s.Spec.Telemetry.Estimate = &e
		}
		out.Slices = append(out.Slices, s)
	}
	return out
}

func TestForecast(t *testing.T) {
	counted, remembered := Estimate{250, FromCount, true}, Estimate{100, FromHistory, false}
	in := ForecastInputs{PageSize: 100, PerSecond: 2, AvgBytes: 1000, AvgBytesFrom: FromHistory, PricePerRequest: 0.25}

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
	check("money", *f.Money, Figure{1.75, FromCount, false})

	in.Passes, in.Latency, in.LatencyFrom, in.Concurrency, in.AvgBytesFrom = 2, 4*time.Second, FromHistory, 2, FromConstant
	f = Forecast(planned(counted, remembered), in)
	check("two passes", f.Requests, Figure{8, FromHistory, false})
	check("slow upstream", *f.Seconds, Figure{16, FromHistory, false}) // 8 × 4 s over 2 connections
	check("assumed bytes", *f.Bytes, Figure{350_000, FromConstant, false})

	f = Forecast(planned(counted, Estimate{}), ForecastInputs{PageSize: 100})
	check("unknown", f.Requests, Figure{4, "", true})
	if f.Seconds != nil || f.Bytes != nil || f.Money != nil {
		t.Errorf("figures out of nothing: %+v", f)
	}
	if f.Basis != (Basis{Counted: 1, Unknown: 1}) || f.Slices != 2 {
		t.Errorf("%+v", f)
	}
	if f = Forecast(Result{}, in); f.Requests != (Figure{0, FromCount, false}) {
		t.Errorf("nothing to do: %+v", f)
	}
}

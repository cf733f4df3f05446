package slicing

import (
	"math"
	"time"
)

// ForecastInputs is what a forecast needs besides the slices. Zero is unknown.
type ForecastInputs struct {
	PageSize        int
	Passes          int // reads of a slice, more than one where pages move (D§5.14)
	PerSecond       float64
	Concurrency     int
	Latency         time.Duration // of one request
	LatencyFrom     Source
	AvgBytes        int64 // of one item
	AvgBytesFrom    Source
	PricePerRequest float64
}

// Basis counts the slices by where their estimate comes from.
type Basis struct {
	Counted   int `json:"counted"`
	History   int `json:"history"`
	FirstPage int `json:"firstPage"`
	Assumed   int `json:"assumed"`
	Unknown   int `json:"unknown"`
}

// Figure is a number and the weakest thing it stands on. Without a source
// nothing is known, and the value is a lower bound at best.
type Figure struct {
	Value   float64 `json:"value"`
	Source  Source  `json:"source,omitempty"`
	AtLeast bool    `json:"atLeast,omitempty"` // some slices hold nobody knows how much
}

// Outlook is what carrying out a plan will take. A figure that cannot be told is
// nil.
type Outlook struct {
	Slices   int     `json:"slices"`
	Basis    Basis   `json:"basis"`
	Items    Figure  `json:"items"`
	Requests Figure  `json:"requests"`
	Seconds  *Figure `json:"seconds,omitempty"`
	Bytes    *Figure `json:"bytes,omitempty"`
	Money    *Figure `json:"money,omitempty"`
}

// Forecast adds up a plan. A slice nobody knows anything about counts as one
// request, the least it takes.
func Forecast(plan Result, in ForecastInputs) Outlook {
	f := Outlook{Slices: len(plan.Slices)}
	source := FromCount
	var items, requests int64
	for _, s := range plan.Slices {
		var e Estimate
		if s.Spec.Telemetry.Estimate != nil {
			e = *s.Spec.Telemetry.Estimate
		}
		f.Basis.add(e.Source)
		source = weaker(source, e.Source)
		items += e.Count
		requests += Pages(e.Count, in.PageSize)
	}
	atLeast := f.Basis.Unknown > 0 || in.PageSize <= 0 && items > 0
	f.Items = Figure{float64(items), source, f.Basis.Unknown > 0}
	f.Requests = Figure{float64(requests) * float64(max(in.Passes, 1)), source, atLeast}
	f.Seconds = f.seconds(in)
	if in.AvgBytes > 0 {
		f.Bytes = &Figure{f.Items.Value * float64(in.AvgBytes), weaker(source, in.AvgBytesFrom), f.Items.AtLeast}
	}
	if in.PricePerRequest > 0 {
		f.Money = &Figure{f.Requests.Value * in.PricePerRequest, source, atLeast}
	}
	return f
}

// Pages is how many requests so many items take; nothing takes one as well.
func Pages(items int64, size int) int64 {
	if items <= 0 || size <= 0 {
		return 1
	}
	return (items-1)/int64(size) + 1
}

// seconds at the declared rate, or at what the connections can carry if that
// is less.
func (f Outlook) seconds(in ForecastInputs) *Figure {
	if in.PerSecond <= 0 {
		return nil
	}
	out := f.Requests
	out.Value = f.Requests.Value / in.PerSecond
	if in.Latency > 0 && in.Concurrency > 0 {
		if carried := f.Requests.Value * in.Latency.Seconds() / float64(in.Concurrency); carried > out.Value {
			out.Value, out.Source = carried, weaker(out.Source, in.LatencyFrom)
		}
	}
	out.Value = math.Ceil(out.Value)
	return &out
}

func (b *Basis) add(s Source) {
	switch s {
	case FromCount:
		b.Counted++
	case FromHistory:
		b.History++
	case FromFirstPage:
		b.FirstPage++
	case FromConstant:
		b.Assumed++
	default:
		b.Unknown++
	}
}

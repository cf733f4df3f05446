package slicing

import (
	"math"
	"time"
)

// ForecastInputs is what a forecast needs besides the slices. Zero is unknown.
type ForecastInputs struct {
	Steps        []Step
	Sizes        func(Slice) Estimate // nil: what the slices were cut by
	Latency      time.Duration        // of one request
	LatencyFrom  Source
	AvgBytes     int64 // of one item
	AvgBytesFrom Source
}

// AssumedItemBytes is the size of an item where nothing of the dataset was read
// yet: about what one record of a scholarly source is on the wire.
const AssumedItemBytes = 2 << 10

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

// EndpointOutlook is the part of one endpoint.
type EndpointOutlook struct {
	Endpoint string  `json:"endpoint"`
	Role     string  `json:"role"`
	Requests Figure  `json:"requests"`
	Seconds  *Figure `json:"seconds,omitempty"`
	Money    *Figure `json:"money,omitempty"`
}

// Outlook is what carrying out a plan will take. A figure that cannot be told is
// nil.
type Outlook struct {
	Slices    int               `json:"slices"`
	Basis     Basis             `json:"basis"`
	Items     Figure            `json:"items"`
	Requests  Figure            `json:"requests"`
	Endpoints []EndpointOutlook `json:"endpoints,omitempty"`
	Seconds   *Figure           `json:"seconds,omitempty"`
	Bytes     *Figure           `json:"bytes,omitempty"`
	ItemBytes *Figure           `json:"bytesPerItem,omitempty"` // what Bytes rests on
	Money     *Figure           `json:"money,omitempty"`
	// Disk is the room that the items take in the database if all of them are new.
	Disk        *Figure `json:"diskBytes,omitempty"`
	RecordBytes *Figure `json:"diskBytesPerRecord,omitempty"` // what Disk rests on
}

// Forecast adds up a plan. A slice of unknown size counts as one request, the least it
// takes.
func Forecast(plan Result, in ForecastInputs) Outlook {
	f := Outlook{Slices: len(plan.Slices)}
	source := FromCount
	var items int64
	requests := make([]int64, len(in.Steps))
	for _, s := range plan.Slices {
		e := s.expectedItems()
		if in.Sizes != nil {
			e = in.Sizes(s)
		}
		f.Basis.addSource(e.Source)
		source = weakerSource(source, e.Source)
		items += e.Count
		for i, step := range in.Steps {
			requests[i] += step.requestsFor(e.Count)
		}
	}
	f.Items = Figure{float64(items), source, f.Basis.Unknown > 0}
	f.Requests = Figure{Source: source}
	for i, step := range in.Steps {
		f.addEndpoint(step.endpointOutlook(in, Figure{float64(requests[i]), source, f.Items.AtLeast || step.PerRequest <= 0 && items > 0}))
	}
	if in.AvgBytes > 0 && f.Basis.Unknown < f.Slices {
		f.Bytes = &Figure{f.Items.Value * float64(in.AvgBytes), weakerSource(source, in.AvgBytesFrom), f.Items.AtLeast}
		f.ItemBytes = &Figure{Value: float64(in.AvgBytes), Source: in.AvgBytesFrom}
	}
	return f
}

// addEndpoint joins the part of an endpoint. Seconds add up: the details of a slice are
// asked for after its search.
func (f *Outlook) addEndpoint(e EndpointOutlook) {
	first := len(f.Endpoints) == 0
	f.Endpoints = append(f.Endpoints, e)
	f.Requests.Value += e.Requests.Value
	f.Requests.AtLeast = f.Requests.AtLeast || e.Requests.AtLeast
	switch {
	case first:
		f.Seconds = e.Seconds
	case f.Seconds == nil || e.Seconds == nil:
		f.Seconds = nil // the sum of a figure and of nothing known is not known
	default:
		f.Seconds = addFigures(f.Seconds, e.Seconds)
	}
	if e.Money != nil {
		f.Money = addFigures(f.Money, e.Money)
	}
}

func addFigures(a, b *Figure) *Figure {
	if a == nil {
		return b
	}
	return &Figure{a.Value + b.Value, weakerSource(a.Source, b.Source), a.AtLeast || b.AtLeast}
}

func (s Step) endpointOutlook(in ForecastInputs, requests Figure) EndpointOutlook {
	out := EndpointOutlook{Endpoint: s.Endpoint, Role: s.Role, Requests: requests, Seconds: s.secondsFor(in, requests)}
	if s.PricePerRequest > 0 {
		out.Money = &Figure{requests.Value * s.PricePerRequest, requests.Source, requests.AtLeast}
	}
	return out
}

// secondsFor at the declared rate, or at what the connections can carry if that
// is less.
func (s Step) secondsFor(in ForecastInputs, requests Figure) *Figure {
	if s.PerSecond <= 0 {
		return nil
	}
	out := requests
	out.Value = requests.Value / s.PerSecond
	if in.Latency > 0 && s.Concurrency > 0 {
		if carried := requests.Value * in.Latency.Seconds() / float64(s.Concurrency); carried > out.Value {
			out.Value, out.Source = carried, weakerSource(out.Source, in.LatencyFrom)
		}
	}
	out.Value = math.Ceil(out.Value)
	return &out
}

func (b *Basis) addSource(s Source) {
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

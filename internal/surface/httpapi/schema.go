package httpapi

import (
	"path"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// aliases are the types whose JSON is not what their fields say, each with one that says it.
var aliases = map[reflect.Type]reflect.Type{
	reflect.TypeFor[window.Window]():    reflect.TypeFor[windowShape](),
	reflect.TypeFor[view.CursorEvent](): reflect.TypeFor[cursorEventShape](),
	reflect.TypeFor[view.WorkSum]():     reflect.TypeFor[workSumShape](),
	reflect.TypeFor[ingest.RunStats]():  reflect.TypeFor[runStatsShape](),
	reflect.TypeFor[ingest.Exchange]():  reflect.TypeFor[exchangeShape](),
}

// windowShape is [from, to); null where there is no window.
type windowShape struct{}

// Schema describes a window.
func (windowShape) Schema(huma.Registry) *huma.Schema {
	instant := &huma.Schema{Type: huma.TypeString, Format: "date-time"}
	return &huma.Schema{
		Type: huma.TypeObject, Nullable: true, Description: "A half-open range of time in UTC: from is included, to is not. Null: no window.",
		Properties: map[string]*huma.Schema{"from": instant, "to": instant}, Required: []string{"from", "to"},
	}
}

type cursorEventShape struct {
	view.CursorEvent
	Lookback float64 `json:"lookbackSeconds"`
}

type workSumShape struct {
	view.WorkSum
	Took           float64  `json:"tookSeconds"`
	Slowest        float64  `json:"slowestSeconds"`
	Mean           float64  `json:"meanSeconds"`
	P50            *float64 `json:"p50Seconds,omitempty" doc:"Half of the answers took at most this. Estimated from counts; left out where none were kept."`
	P95            *float64 `json:"p95Seconds,omitempty"`
	P99            *float64 `json:"p99Seconds,omitempty"`
	Waited         float64  `json:"waitSeconds"`
	ErrorShare     float64  `json:"errorShare"`
	ThrottledShare float64  `json:"throttledShare"`
	FailureShare   float64  `json:"failureShare"`
}

// runStatsShape has the milliseconds of old rows only as what may be there.
type runStatsShape struct {
	ingest.RunStats
	WaitMS    *float64 `json:"waitMs,omitempty"`
	TookMS    *float64 `json:"tookMs,omitempty"`
	SlowestMS *float64 `json:"slowestMs,omitempty"`
	Wait      float64  `json:"waitSeconds"`
	Took      float64  `json:"tookSeconds,omitempty"`
	Slowest   float64  `json:"slowestSeconds,omitempty"`

	Statuses map[string]int `json:"statuses,omitempty" doc:"How many answers had which HTTP status, those of repeated requests too. 0 stands for numbers that are no HTTP status. Left out where no answer came, and of runs that an older version counted."`
}

type exchangeShape struct {
	Requests  int           `json:"requests"`
	Retries   int           `json:"retries"`
	Throttled int           `json:"throttled"`
	Permits   int           `json:"permits"`
	Waits     waitsShape    `json:"waits"`
	Rate      float64       `json:"perSecond,omitempty"`
	Quota     gate.Decision `json:"quota,omitempty"`
	Status    int           `json:"status,omitempty"`
	Bytes     int64         `json:"bytes"`
	Took      float64       `json:"tookSeconds"`
	TookAll   float64       `json:"tookAllSeconds"`
	HasNext   bool          `json:"hasNext"`
	Actions   health.Tally  `json:"actions,omitzero"`
}

type waitsShape struct {
	Rate        float64 `json:"rateSeconds"`
	Concurrency float64 `json:"concurrencySeconds"`
	Quota       float64 `json:"quotaSeconds"`
	Hours       float64 `json:"hoursSeconds"`
	RetryAfter  float64 `json:"retryAfterSeconds"`
}

// nameSchema names a type in the description. Rooms of the core use the same short names, so
// those of others than view have the room before them.
func nameSchema(t reflect.Type, hint string) string {
	name := strings.TrimSuffix(huma.DefaultSchemaNamer(t, hint), "Shape")
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if strings.HasPrefix(t.Name(), "List[") {
		rows, _ := t.FieldByName("Items") // of view.List
		return "List" + nameSchema(rows.Type.Elem(), hint)
	}
	room := path.Base(t.PkgPath())
	if t.Name() == "" || strings.Contains(t.Name(), "[") || room == "view" || room == "httpapi" {
		return name
	}
	return strings.ToUpper(room[:1]) + room[1:] + name
}

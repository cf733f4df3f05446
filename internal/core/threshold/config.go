package threshold

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// Config is the section `findings` of patra.yaml: the limits that an installation decides
// otherwise. Each key has its field in Limits under the same name.
type Config struct {
	ConditionLasts   *duration.Duration `json:"conditionLasts,omitzero" doc:"how long an endpoint may be in trouble before that calls a person; without it PT1H"`
	CircuitOpens     *int               `json:"circuitOpens,omitzero" doc:"how many times in a row a circuit may open before that calls a person; without it 5"`
	ClockOff         *duration.Duration `json:"clockOff,omitzero" doc:"how far the clock of a machine may differ from the database's; without it PT30S"`
	StallAfter       *duration.Duration `json:"stallAfter,omitzero" doc:"how long a watermark may stand after the tick that should have moved it; without it PT30M"`
	PlanIdle         *duration.Duration `json:"planIdle,omitzero" doc:"how long a plan may be ready before a process takes the first of its tasks; without it PT30M"`
	ProcessGone      *duration.Duration `json:"processGone,omitzero" doc:"how long it is told that a process ended without shutting down, where nothing waits for it; without it P1D"`
	EventsAge        *duration.Duration `json:"eventsAge,omitzero" doc:"how long an event may wait for its delivery, PT0S for ever; without it PT1H"`
	CheckAge         *duration.Duration `json:"checkAge,omitzero" doc:"how old the last check of the database may be, PT0S for ever; without it P30D"`
	ErrorShare       *float64           `json:"errorShare,omitzero" doc:"which share of batches may meet errors of L1 and L2, 0 for any; without it 0.05"`
	ErrorFor         *duration.Duration `json:"errorFor,omitzero" doc:"for how long it may be more; without it PT10M"`
	ThrottledShare   *float64           `json:"throttledShare,omitzero" doc:"which share of batches may be told to slow down (429), 0 for any; without it 0.05"`
	ThrottledFor     *duration.Duration `json:"throttledFor,omitzero" doc:"for how long it may be more; without it PT5M"`
	LeastBatches     *int               `json:"leastBatches,omitzero" doc:"how many batches there must be in five minutes to judge by shares of them; without it 20"`
	QuotaLeftShare   *float64           `json:"quotaLeftShare,omitzero" doc:"which share of a quota should be left, 0 for none; without it 0.1"`
	QuarantineGrowth *int               `json:"quarantineGrowth,omitzero" doc:"how many items may come into quarantine within an hour before that is critical, 0 for any; without it 100"`
	QueueLeast       *int               `json:"queueLeast,omitzero" doc:"how many tasks may always wait before a queue that is longer than usual is told, 0 for any; without it 500"`
	QueueFor         *duration.Duration `json:"queueFor,omitzero" doc:"for how long it may be longer than usual; without it PT30M"`
	ThinShare        *float64           `json:"thinShare,omitzero" doc:"which share of the items that a weekday usually has a day should have, 0 for none; without it 0.2"`
	DiskFreeShare    *float64           `json:"diskFreeShare,omitzero" doc:"which share of a disk should be free, where that is less than 20 GB; without it 0.05"`
	RawFullShare     *float64           `json:"rawFullShare,omitzero" doc:"up to which share of their bound bodies of answers may be kept before that is told, 0 for any; without it 0.9"`
	StoreSlow        *duration.Duration `json:"storeSlow,omitzero" doc:"how long the database may take for the simplest answer, PT0S for ever; without it PT1S"`
}

// Limits returns the limits that hold: the declared ones, and the defaults for the rest.
func (c Config) Limits() Limits { return c.Over(Default()) }

// Over returns the declared limits, and those given for the rest.
func (c Config) Over(out Limits) Limits {
	given, held := reflect.ValueOf(c), reflect.ValueOf(&out).Elem()
	for i := range given.NumField() {
		if value := given.Field(i); !value.IsNil() {
			at := held.FieldByName(given.Type().Field(i).Name)
			at.Set(value.Elem().Convert(at.Type()))
		}
	}
	return out
}

// Explained is one limit with its value, and whether it was declared.
type Explained struct {
	Key      string
	Value    string
	Declared bool
}

// Explain lists all limits in the order of the section.
func (c Config) Explain() (out []Explained) {
	given, held := reflect.ValueOf(c), reflect.ValueOf(c.Limits())
	for i := range given.NumField() {
		field := given.Type().Field(i)
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value := held.FieldByName(field.Name).Interface()
		if span, ok := value.(time.Duration); ok {
			value = duration.Duration(span)
		}
		out = append(out, Explained{Key: key, Value: fmt.Sprint(value), Declared: !given.Field(i).IsNil()})
	}
	return out
}

// Problem is what is wrong with a limit.
type Problem struct{ Key, Message, Hint string }

// Check returns what can mean nothing: a time before now, and a share above the whole.
func (c Config) Check() (out []Problem) {
	given := reflect.ValueOf(c)
	for i := range given.NumField() {
		key, _, _ := strings.Cut(given.Type().Field(i).Tag.Get("json"), ",")
		switch v := given.Field(i).Interface().(type) {
		case *duration.Duration:
			if v != nil && *v < 0 {
				out = append(out, Problem{key, fmt.Sprintf("%s is negative", *v), "a length of time such as PT30M"})
			}
		case *float64:
			if v != nil && strings.HasSuffix(key, "Share") && *v > 1 {
				out = append(out, Problem{key, fmt.Sprintf("%v is not a share", *v), "0.1 for a tenth"})
			}
		}
	}
	return out
}

package ingest

import (
	"encoding/json"
	"math"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
)

// Exchange is how a batch was had: what it cost, and what the gate and the upstream
// said (§9.8, §14.3). It is no part of the account of its items.
type Exchange struct {
	Requests  int // that were sent, token and login calls included
	Retries   int
	Throttled int // answers 429
	Permits   int // that the gate gave
	Waits     gate.Waits
	Rate      float64       // requests a second in force when the last one left
	Quota     gate.Decision // of quotas, where the source has any
	Status    int           // of the last answer; 0: none came
	Bytes     int64         // on the wire, of all tries
	Took      time.Duration // the upstream's time for the last answer
	TookAll   time.Duration // for all tries
	HasNext   bool          // the slice goes on behind this page
	Actions   health.Tally  // what was done about conditions since the batch before
}

// shownExchange is an exchange as programs get it: lengths of time in seconds.
type shownExchange struct {
	Requests  int           `json:"requests"`
	Retries   int           `json:"retries"`
	Throttled int           `json:"throttled"`
	Permits   int           `json:"permits"`
	Waits     shownWaits    `json:"waits"`
	Rate      float64       `json:"perSecond,omitempty"`
	Quota     gate.Decision `json:"quota,omitempty"`
	Status    int           `json:"status,omitempty"`
	Bytes     int64         `json:"bytes"`
	Took      float64       `json:"tookSeconds"`
	TookAll   float64       `json:"tookAllSeconds"`
	HasNext   bool          `json:"hasNext"`
	Actions   health.Tally  `json:"actions,omitzero"`
}

type shownWaits struct {
	Rate        float64 `json:"rateSeconds"`
	Concurrency float64 `json:"concurrencySeconds"`
	Quota       float64 `json:"quotaSeconds"`
	Hours       float64 `json:"hoursSeconds"`
	RetryAfter  float64 `json:"retryAfterSeconds"`
}

// MarshalJSON writes lengths of time in seconds.
func (x Exchange) MarshalJSON() ([]byte, error) {
	w := x.Waits
	return json.Marshal(shownExchange{
		x.Requests, x.Retries, x.Throttled, x.Permits,
		shownWaits{w.Rate.Seconds(), w.Concurrency.Seconds(), w.Quota.Seconds(), w.Hours.Seconds(), w.RetryAfter.Seconds()},
		x.Rate, x.Quota, x.Status, x.Bytes, x.Took.Seconds(), x.TookAll.Seconds(), x.HasNext, x.Actions,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (x *Exchange) UnmarshalJSON(text []byte) error {
	var in shownExchange
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*x = Exchange{
		Requests: in.Requests, Retries: in.Retries, Throttled: in.Throttled, Permits: in.Permits,
		Waits: gate.Waits{
			Rate: fromSeconds(in.Waits.Rate), Concurrency: fromSeconds(in.Waits.Concurrency), Quota: fromSeconds(in.Waits.Quota),
			Hours: fromSeconds(in.Waits.Hours), RetryAfter: fromSeconds(in.Waits.RetryAfter),
		},
		Rate: in.Rate, Quota: in.Quota, Status: in.Status, Bytes: in.Bytes, Took: fromSeconds(in.Took), TookAll: fromSeconds(in.TookAll),
		HasNext: in.HasNext, Actions: in.Actions,
	}
	return nil
}

func fromSeconds(s float64) time.Duration {
	return time.Duration(math.Round(s*1000)) * time.Millisecond
}

// storedBatch is what the row of a batch says: the account of its items, and how it was
// had, under short names. There are as many rows as pages, so zeros are left out.
type storedBatch struct {
	compactStats
	Exchange *compactExchange `json:"x,omitempty"`
}

type compactStats struct {
	Seen        int       `json:"seen,omitempty"`
	Inserted    int       `json:"inserted,omitempty"`
	Updated     int       `json:"updated,omitempty"`
	Unchanged   int       `json:"unchanged,omitempty"`
	Gone        int       `json:"gone,omitempty"`
	Stale       int       `json:"stale,omitempty"`
	Duplicate   int       `json:"duplicate,omitempty"`
	Outside     int       `json:"outside,omitempty"`
	Excluded    int       `json:"excluded,omitempty"`
	Quarantined int       `json:"quarantined,omitempty"`
	OutsideKept int       `json:"outsideKept,omitempty"`
	Late        int       `json:"late,omitempty"`
	Swept       int       `json:"swept,omitempty"`
	Known       int       `json:"known,omitempty"`
	Missed      MissTally `json:"missed,omitzero"`
}

// compactExchange has lengths of time in milliseconds.
type compactExchange struct {
	Requests    int           `json:"q,omitempty"`
	Retries     int           `json:"r,omitempty"`
	Throttled   int           `json:"t,omitempty"`
	Permits     int           `json:"p,omitempty"` // if it is not the number of requests
	Rate        float64       `json:"v,omitempty"`
	Quota       gate.Decision `json:"d,omitempty"`
	Status      int           `json:"s,omitempty"` // if it is not 200
	Bytes       int64         `json:"b,omitempty"`
	Took        int64         `json:"l,omitempty"`
	TookAll     int64         `json:"a,omitempty"` // if it is not that of the last answer
	WaitRate    int64         `json:"wr,omitempty"`
	WaitPlaces  int64         `json:"wc,omitempty"`
	WaitQuota   int64         `json:"wq,omitempty"`
	WaitHours   int64         `json:"wh,omitempty"`
	WaitAsked   int64         `json:"wa,omitempty"`
	End         int           `json:"e,omitempty"` // 1: there is no next page
	NoAnswer    int           `json:"n,omitempty"` // 1: no answer came
	Actions     health.Tally  `json:"h,omitzero"`
	PermitsNone int           `json:"pn,omitempty"` // 1: requests without a permit of their own
}

// EncodeBatch returns what the row of a batch says of it.
func EncodeBatch(s BatchStats, x Exchange) ([]byte, error) {
	return json.Marshal(storedBatch{compactStats(s), x.shorten()})
}

func (x Exchange) shorten() *compactExchange {
	c := compactExchange{
		Requests: x.Requests, Retries: x.Retries, Throttled: x.Throttled, Rate: math.Round(x.Rate*100) / 100, Quota: x.Quota, Bytes: x.Bytes,
		Took: x.Took.Milliseconds(), WaitRate: x.Waits.Rate.Milliseconds(), WaitPlaces: x.Waits.Concurrency.Milliseconds(),
		WaitQuota: x.Waits.Quota.Milliseconds(), WaitHours: x.Waits.Hours.Milliseconds(), WaitAsked: x.Waits.RetryAfter.Milliseconds(), Actions: x.Actions,
	}
	if x.Permits != x.Requests {
		if c.Permits = x.Permits; x.Permits == 0 {
			c.PermitsNone = 1
		}
	}
	switch x.Status {
	case 200:
	case 0:
		c.NoAnswer = 1
	default:
		c.Status = x.Status
	}
	if all := x.TookAll.Milliseconds(); all != c.Took {
		c.TookAll = all
	}
	if !x.HasNext {
		c.End = 1
	}
	return &c
}

// DecodeExchange reads how a batch was had from its row; known is false where a row was
// written before that was kept.
func DecodeExchange(text []byte) (x Exchange, known bool, err error) {
	var row struct {
		Exchange *compactExchange `json:"x"`
	}
	if err := json.Unmarshal(text, &row); err != nil || row.Exchange == nil {
		return x, false, err
	}
	c := row.Exchange
	millis := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	x = Exchange{
		Requests: c.Requests, Retries: c.Retries, Throttled: c.Throttled, Permits: c.Permits, Rate: c.Rate, Quota: c.Quota, Status: c.Status, Bytes: c.Bytes,
		Took: millis(c.Took), TookAll: millis(c.TookAll), HasNext: c.End == 0, Actions: c.Actions,
		Waits: gate.Waits{
			Rate: millis(c.WaitRate), Concurrency: millis(c.WaitPlaces), Quota: millis(c.WaitQuota), Hours: millis(c.WaitHours), RetryAfter: millis(c.WaitAsked),
		},
	}
	if c.Permits == 0 && c.PermitsNone == 0 {
		x.Permits = c.Requests
	}
	if c.Status == 0 && c.NoAnswer == 0 {
		x.Status = 200
	}
	if c.TookAll == 0 {
		x.TookAll = x.Took
	}
	return x, true, nil
}

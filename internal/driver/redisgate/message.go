package redisgate

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/patra-ingest/patra/internal/core/gate"
)

//go:embed prelude.lua
var preludeScript string

//go:embed beat.lua
var beatScript string

//go:embed trip.lua
var tripScript string

// presence is what every message says first.
type presence struct {
	ID    string `json:"id"`
	Rank  int    `json:"rank"`
	N     int    `json:"n"`
	Live  int64  `json:"live"` // on the server's clock: until when the process counts as there
	Leave bool   `json:"leave,omitempty"`
	// Back: requests left since the server heard of us last, with our own share.
	Back bool `json:"back_from_alone,omitempty"`
}

// tripRequest is all that one process has to say and ask about one key. Times
// are microseconds.
type tripRequest struct {
	presence
	Rate     float64       `json:"rate"`
	Burst    int           `json:"burst"`
	Places   int           `json:"places"`
	Cost     float64       `json:"cost"` // of a usual request
	Warmup   int64         `json:"warmup"`
	Min      float64       `json:"min"`
	Demote   float64       `json:"demote"`
	Recover  float64       `json:"recover"`
	Every    int64         `json:"every"`
	Obey     bool          `json:"obey"`
	Late     int64         `json:"late"`     // how long after its instant a permit can be used
	Horizon  int64         `json:"horizon"`  // how far ahead permits are given
	Quiet    int64         `json:"quiet"`    // how long a server that lost its state gives none
	Patience int64         `json:"patience"` // how long somebody who was refused counts as waiting
	Lease    int64         `json:"lease"`    // on the server's clock: until when our places are ours
	Held     int           `json:"held"`     // places in use
	Back     float64       `json:"back"`     // tokens of permits that were not used
	Signals  []tripSignal  `json:"signals"`
	Accounts []tripAccount `json:"accounts"`
	Wants    []tripWant    `json:"wants"`
}

type tripSignal struct {
	Complaint bool    `json:"complaint"`
	Failed    bool    `json:"failed"`
	Sent      int64   `json:"sent"` // on the server's clock: when the request left
	Cool      int64   `json:"cool"` // on the server's clock: nothing may leave before
	Rate      float64 `json:"rate"`
	Places    int     `json:"places"`
	Left      int64   `json:"left"`
	Reset     int64   `json:"reset"`
}

type tripAccount struct {
	Kind   int     `json:"kind"` // 1 requests of the hour, 2 of the day, 3 money of the day
	Length int64   `json:"length"`
	Usable float64 `json:"usable"`
	Window int64   `json:"window"`
	Used   float64 `json:"used"` // by this process in that window
	Back   float64 `json:"back"`
}

type tripWant struct {
	N        int     `json:"n"`
	Weight   float64 `json:"weight"`
	Price    float64 `json:"price"`
	Priority int     `json:"priority"`
	Ahead    bool    `json:"ahead"` // no request waits for them yet
}

type tripReply struct {
	Now     string    `json:"now"`
	Here    int       `json:"here"`
	Rate    float64   `json:"rate"`
	AtOnce  int       `json:"at_once"`
	Later   []float64 `json:"later"`
	Reason  string    `json:"reason"`
	Until   float64   `json:"until_"`
	Cooling float64   `json:"cooling"`
	// For people.
	Tokens     float64 `json:"tokens"`
	Places     int     `json:"places"`
	Taken      int     `json:"taken"`
	Demotions  int     `json:"demotions"`
	Said       float64 `json:"said"`
	SaidPlaces int     `json:"said_places"`

	Accounts []struct {
		Window int64   `json:"window"`
		Sum    float64 `json:"sum"`
		Mine   float64 `json:"mine"`
	} `json:"accounts"`
}

// What keeps a permit back.
const (
	byRate     = "RATE"
	byPlaces   = "PLACES"
	byPriority = "PRIORITY"
	byAbsence  = "ABSENT"
	byCooling  = "COOLING"
	byQuota    = "QUOTA"
)

// wire sends scripts and learns the server's clock from the answers.
type wire struct {
	client *redis.Client
	clock  *gate.Offset
	shared []string // names of what all keys have in common
	prefix string
	beat   *redis.Script
	trip   *redis.Script
	limit  time.Duration
}

func newWire(c Config) (*wire, error) {
	o, err := redisOptions(c)
	if err != nil {
		return nil, err
	}
	logging.Disable() // the library writes to stderr; what matters is in the errors
	// One hash tag for everything: a script must see all of it, also on a cluster.
	prefix := "{" + c.Prefix + ":gate}:"
	return &wire{
		client: redis.NewClient(o), clock: gate.NewOffset(time.Now()), prefix: prefix, limit: c.Timeout,
		shared: []string{prefix + "epoch", prefix + "live", prefix + "ranks"},
		beat:   redis.NewScript(preludeScript + beatScript), trip: redis.NewScript(preludeScript + tripScript),
	}, nil
}

// askClock looks at the server's clock; it changes nothing there.
func (w *wire) askClock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	sent := time.Now()
	at, err := w.client.Time(ctx).Result()
	if err != nil {
		return err
	}
	w.clock.Observe(sent, time.Now(), at.UnixMicro())
	return nil
}

// sendBeat shows that we are there and hears how many are.
func (w *wire) sendBeat(ctx context.Context, p presence) (here int, err error) {
	var reply tripReply
	err = w.sendScript(ctx, w.beat, w.shared, p, &reply)
	return reply.Here, err
}

func (w *wire) sendTrip(ctx context.Context, key string, q tripRequest) (tripReply, int64, error) {
	base := w.prefix + key
	keys := append(w.shared[:len(w.shared):len(w.shared)],
		base+":state", base+":places", base+":holders", base+":hour", base+":day", base+":money")
	var reply tripReply
	if err := w.sendScript(ctx, w.trip, keys, q, &reply); err != nil {
		return reply, 0, err
	}
	now, err := strconv.ParseInt(reply.Now, 10, 64)
	return reply, now, err
}

func (w *wire) sendScript(ctx context.Context, script *redis.Script, keys []string, message any, reply *tripReply) error {
	text, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("write message to the shared gate: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	sent := time.Now()
	answer, err := script.Run(ctx, w.client, keys, text).Text()
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(answer), reply); err != nil {
		return fmt.Errorf("read answer of the shared gate: %w", err)
	}
	at, err := strconv.ParseInt(reply.Now, 10, 64)
	if err != nil {
		return errors.New("the answer of the shared gate has no time")
	}
	w.clock.Observe(sent, time.Now(), at)
	return nil
}

package redisgate

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// Config is where the shared state lives and who we are.
type Config struct {
	URL    string // redis://user:password@host:port/database, rediss:// or unix://
	ID     string // of this process, unlike that of any other
	Prefix string // of all keys (default patra)
	Log    *slog.Logger
	// Beat is how often the process shows that it is there (default 500 ms). What
	// a loss costs in time follows from it.
	Beat time.Duration
	// Timeout is how long an answer is waited for (default a second).
	Timeout time.Duration
	// Lease is how long the places of a process that died stay taken (default 30 s).
	Lease time.Duration
	// Alone is the gate of this process, used with its share of the limits while
	// the server cannot be reached.
	Alone Alone
	// Quotas counts the quotas where they are kept for good. What the server knows
	// of them is then only for the order of who comes first. Nil: the server's
	// count is all there is.
	Quotas Quotas

	hour time.Duration // of quotas; shorter in tests
}

// Quotas counts requests against the quotas of their key.
type Quotas interface {
	// Spend charges a request before it is sent, or refuses it. Valid tells whether
	// the window it was charged to is still open; undo takes the charge back.
	Spend(ctx context.Context, a gate.Ask) (valid func() bool, undo func(), err error)
}

// Alone is the gate of one process.
type Alone interface {
	// Acquire is a permit of this process; done ends it.
	Acquire(ctx context.Context, a gate.Ask) (done func(gate.Signal), err error)
	// Empty lets no request of a key leave before an instant, and no burst then.
	Empty(key string, l gate.Limits, until time.Time)
	// SetShare says which of how many processes this one is.
	SetShare(rank, n int)
}

func (c Config) withDefaults() Config {
	c.Prefix = cmp.Or(c.Prefix, "patra")
	c.Beat = cmp.Or(c.Beat, 500*time.Millisecond)
	c.Timeout = cmp.Or(c.Timeout, time.Second)
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.hour = cmp.Or(c.hour, time.Hour)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// presentFor returns how long a process counts as there after a sign of life.
func (c Config) presentFor() time.Duration { return 3 * c.Beat }

// Masked returns the address without its password.
func Masked(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(an address that cannot be read)"
	}
	u.RawQuery = ""
	return u.Redacted()
}

func redisOptions(c Config) (*redis.Options, error) {
	o, err := parseRoute(c.URL)
	if err != nil {
		return nil, err
	}
	// A command is sent once: a repeated one would be charged twice.
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = c.Timeout, c.Timeout, c.Timeout, c.Timeout
	o.ContextTimeoutEnabled = true
	o.PoolSize, o.MinIdleConns = 8, 0
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

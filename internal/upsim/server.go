package upsim

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Options says how a server behaves. The zero value is a well-behaved server
// with scroll cursors.
type Options struct {
	Cursor     CursorMode
	CursorLife time.Duration // from the last use; default 5 minutes

	Faults    []Fault
	FaultSeed uint64 // for the faults that strike by chance

	Public, Polite Pool // announced limits; defaults 5 with 1, and 10 with 3

	LogLimit int         // entries kept; default 4096, negative keeps none
	OnEntry  func(Entry) // called for every request, before the end of its answer

	DisableGzip bool // spares the processor in throughput measurements

	Shrinking Shrinking // works that leave a selection while it is read

	Forms FormOptions // of the lists below /forms/
}

// Pool is what the answers announce as limits. The server does not enforce
// them: tests read the log.
type Pool struct {
	Rate        int // requests per interval
	Interval    time.Duration
	Concurrency int
}

func (o Options) withDefaults() Options {
	if o.CursorLife <= 0 {
		o.CursorLife = 5 * time.Minute
	}
	if o.LogLimit == 0 {
		o.LogLimit = defaultLogLimit
	}
	o.Public = o.Public.orElse(Pool{Rate: 5, Interval: time.Second, Concurrency: 1})
	o.Forms = o.Forms.withDefaults()
	o.Polite = o.Polite.orElse(Pool{Rate: 10, Interval: time.Second, Concurrency: 3})
	return o
}

func (p Pool) orElse(unset Pool) Pool {
	if p == (Pool{}) {
		return unset
	}
	if p.Interval <= 0 {
		p.Interval = time.Second
	}
	return p
}

// Server serves a data set. It is an http.Handler; Start is only for those who
// want a port.
type Server struct {
	data   *Dataset
	opts   Options
	walks  walks
	forms  formState
	plot   plot
	ledger requestLog

	buffers sync.Pool // *[]byte
	packed  sync.Pool // *bytes.Buffer
	zippers sync.Pool // *gzip.Writer

	life    sync.Mutex
	web     *http.Server
	url     string
	stopped chan struct{}
}

// NewServer makes a server; the only error is a fault that makes no sense.
func NewServer(data *Dataset, opts Options) (*Server, error) {
	opts = opts.withDefaults()
	s := &Server{
		data:   data,
		opts:   opts,
		walks:  walks{mode: opts.Cursor, life: opts.CursorLife, seed: data.cfg.Seed, open: map[uint64]*walk{}},
		forms:  newFormState(data.cfg.Seed, opts),
		plot:   plot{seed: opts.FaultSeed},
		ledger: requestLog{limit: opts.LogLimit, onEntry: opts.OnEntry},
	}
	s.buffers.New = func() any { return new([]byte) }
	s.packed.New = func() any { return new(bytes.Buffer) }
	s.zippers.New = func() any {
		z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
		return z
	}
	if err := s.SetFaults(opts.Faults); err != nil {
		return nil, fmt.Errorf("new simulated server: %w", err)
	}
	return s, nil
}

// SetFaults replaces the faults while the server runs; their counts start anew,
// the numbering of requests goes on.
func (s *Server) SetFaults(faults []Fault) error { return s.plot.setFaults(faults) }

// Start serves on a free port of the loopback address.
func (s *Server) Start() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.web != nil {
		return errors.New("start simulated server: it runs already")
	}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start simulated server: %w", err)
	}
	s.web = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	s.url = "http://" + port.Addr().String()
	s.stopped = make(chan struct{})
	go func(web *http.Server, stopped chan struct{}) {
		defer close(stopped)
		_ = web.Serve(port) // always ends with ErrServerClosed, by Close
	}(s.web, s.stopped)
	return nil
}

// URL returns the base address after Start, without a slash at the end.
func (s *Server) URL() string {
	s.life.Lock()
	defer s.life.Unlock()
	return s.url
}

// Close frees the port and ends all connections. It may be called twice.
func (s *Server) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.web == nil {
		return nil
	}
	err := s.web.Close()
	<-s.stopped
	s.web, s.url = nil, ""
	return err
}

// pauseFor waits unless the client goes away first.
func pauseFor(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

package entrance

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Bounds of a connection (R10). Streams of events lift the one of writing themselves, by
// http.ResponseController.
const (
	headTime  = 5 * time.Second
	readTime  = 30 * time.Second
	writeTime = time.Minute
	idleTime  = 2 * time.Minute
	mostHeads = 16 << 10 // bytes of the headers of a request
)

// AnswerTime is how long a question to the store may take: what comes later could not be written any
// more, so that it would only hold the database.
const AnswerTime = writeTime - 10*time.Second

// NewServer is a server with those bounds. What net/http reads of headers before it gives
// up is some KB more than it is told; the entrance counts them exactly.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: mostHeads, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// headerBytes is how large a request is without its body.
func headerBytes(r *http.Request) int {
	n := len(r.RequestURI)
	for name, values := range r.Header {
		for _, value := range values {
			n += len(name) + len(value) + len(": \r\n")
		}
	}
	return n
}

// ServeUntil answers requests on a listener until ctx ends, and then finishes those under
// way, for a moment. Requests end with their context: streams notice that it is over.
func ServeUntil(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger, farewell time.Duration) error {
	requests, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	server := NewServer(h, log)
	server.BaseContext = func(net.Listener) context.Context { return requests }
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		end()
		return server.Close()
	}
	return nil
}

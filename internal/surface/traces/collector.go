package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector uploads spans. It is what otlptracehttp would be without gRPC, whose types that
// package needs for one message: a request to export has the same bytes as TracesData.
type collector struct {
	settings Settings
	client   *http.Client
	log      *slog.Logger

	delivered atomic.Int64
	mu        sync.Mutex
	trouble   error // why the last upload failed; nil: it did not
}

func newCollector(s Settings, log *slog.Logger) *collector {
	return &collector{settings: s, log: log, client: &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: s.TLS, MaxIdleConns: 2, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the headers are for the collector that was named
		},
	}}
}

// Start does nothing: the first upload connects.
func (c *collector) Start(context.Context) error { return nil }

// Stop lets go of the connections.
func (c *collector) Stop(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans. It gives no error back: the SDK would tell each of them.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := c.encodeSpans(spans)
	if err == nil {
		err = c.deliver(ctx, body)
	}
	if err == nil {
		c.delivered.Add(countSpans(spans))
	}
	c.tellChange(err)
	return nil
}

func countSpans(all []*tracepb.ResourceSpans) (n int64) {
	for _, r := range all {
		for _, s := range r.ScopeSpans {
			n += int64(len(s.Spans))
		}
	}
	return n
}

func (c *collector) encodeSpans(spans []*tracepb.ResourceSpans) ([]byte, error) {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil || !c.settings.Gzip {
		return body, err
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(body)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

// mostTries is how often an upload is tried that the collector puts off.
const mostTries = 4

// firstWait is how long it is waited before the second try; then twice as long each time.
const firstWait = 200 * time.Millisecond

// deliver posts a body, again if the collector asks for it, until the time limit. While
// the collector is in trouble anyway it is tried once.
func (c *collector) deliver(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.settings.Timeout)
	defer cancel()
	wait := firstWait
	for try := 1; ; try++ {
		after, err := c.post(ctx, body)
		if err == nil || after < 0 || try == mostTries || c.inTrouble() {
			return err
		}
		pause := time.NewTimer(max(wait, after))
		select {
		case <-ctx.Done():
			pause.Stop()
			return err
		case <-pause.C:
		}
		wait *= 2
	}
}

// post sends a body once. A negative wait says that another try is of no use.
func (c *collector) post(ctx context.Context, body []byte) (again time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.settings.Endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return -1, bareError(err)
	}
	request.Header = c.settings.Headers.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	if c.settings.Gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := c.client.Do(request)
	if err != nil {
		return 0, bareError(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10) // so that the connection can be used again
	switch answer.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return time.Duration(max(seconds, 0)) * time.Second, fmt.Errorf("it answers %s", answer.Status)
	}
	return -1, fmt.Errorf("it answers %s", answer.Status)
}

// bareError returns an error without the address, which may hold a password.
func bareError(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

func (c *collector) inTrouble() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble != nil
}

// tellChange logs that spans no longer reach the collector, or do again: once each, however
// many uploads fail meanwhile.
func (c *collector) tellChange(err error) {
	c.mu.Lock()
	before := c.trouble
	c.trouble = err
	c.mu.Unlock()
	switch {
	case err != nil && before == nil:
		c.log.Warn("spans do not reach the collector; the work goes on, and its spans are lost", "collector", c.settings.Endpoint.Host, "error", err)
	case err == nil && before != nil:
		c.log.Info("spans reach the collector again", "collector", c.settings.Endpoint.Host)
	}
}

// lastTrouble returns why the last upload failed; nil if it did not.
func (c *collector) lastTrouble() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

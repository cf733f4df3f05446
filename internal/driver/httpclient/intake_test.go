package httpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/gzip"
	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// endless sends a body that never ends, as it is or packed.
func endless(w http.ResponseWriter, r *http.Request) {
	out, chunk := io.Writer(w), bytes.Repeat([]byte("0123456789abcdef"), 4096)
	if strings.Contains(r.URL.Path, "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		out, _ = gzip.NewWriterLevel(w, gzip.HuffmanOnly) // shrinks by half
	}
	for {
		if _, err := out.Write(chunk); err != nil {
			return
		}
	}
}

// A body without an end is given up at its limit, and costs not much more than that.
func TestTrust07EndlessBodies(t *testing.T) {
	const limit = 64 << 20
	base := handle(t, endless)
	for _, path := range []string{"/plain", "/gzip"} {
		r := request(t, base+path)
		r.MaxBodyBytes, r.Timeout = limit, 0
		used := allocated(func() {
			if _, err := New(Options{}).Send(t.Context(), r); fault.As(err).Code != fault.TooLarge {
				t.Errorf("%s: %v", path, err)
			}
		})
		if used > limit+limit/2 {
			t.Errorf("%s: %d MB were taken for a limit of %d MB", path, used>>20, limit>>20)
		}
	}
}

// A body that announces more than it sends takes what it sends.
func TestTrust07AnnouncedLengthTakesNoMemory(t *testing.T) {
	base := raw(t, "HTTP/1.1 200 OK\r\nContent-Length: 60000000\r\n\r\nshort")
	r := request(t, base)
	r.MaxBodyBytes = 64 << 20
	used := allocated(func() {
		if _, err := New(Options{}).Send(t.Context(), r); fault.As(err).Code != fault.Network {
			t.Error(err)
		}
	})
	if used > 8<<20 {
		t.Errorf("%d MB were taken", used>>20)
	}
}

// room notes what is claimed and lets nobody in before it is told.
type room struct {
	claimed []int64
	open    chan struct{}
}

func (r *room) Claim(ctx context.Context, bytes int64) error {
	r.claimed = append(r.claimed, bytes)
	if r.open == nil {
		return nil
	}
	select {
	case <-r.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A usual body asks nobody. A larger one asks for what it announces, else in steps.
func TestTrust07LargeBodiesAskForRoom(t *testing.T) {
	const limit = 40 << 20
	for name, c := range map[string]struct {
		bytes     int
		announced bool
		want      []int64
	}{
		"usual":            {exchange.UsualBody, false, nil},
		"usual, announced": {exchange.UsualBody, true, nil},
		"large":            {exchange.UsualBody + 2<<20, false, []int64{8 << 20}},
		"larger":           {20 << 20, false, []int64{8 << 20, 16 << 20, 32 << 20}},
		"the limit":        {limit, false, []int64{8 << 20, 16 << 20, 32 << 20, limit}},
		"large, announced": {10 << 20, true, []int64{10 << 20}},
	} {
		body := strings.Repeat("x", c.bytes)
		base := handle(t, func(w http.ResponseWriter, _ *http.Request) {
			if c.announced {
				w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			}
			_, _ = io.WriteString(w, body)
		})
		shared := &room{}
		r := request(t, base)
		r.MaxBodyBytes, r.Room = limit, shared
		answer, err := New(Options{}).Send(t.Context(), r)
		if err != nil || string(answer.Body) != body {
			t.Errorf("%s: %v", name, err)
		}
		if fmt.Sprint(shared.claimed) != fmt.Sprint(c.want) {
			t.Errorf("%s: claimed %v, want %v", name, shared.claimed, c.want)
		}
	}
}

// While a body waits for room, no limit of the upstream's time runs on; it is ended
// with its caller.
func TestTrust07WaitingForRoomIsNotTheUpstreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, w := watchLimits(t.Context(), exchange.Limits{MaxBodyBytes: 1 << 30, Timeout: 20 * time.Second, ReadTimeout: 5 * time.Second, MinRate: 1000})
		defer w.stopWatching()
		w.noteAnswered()
		shared := &room{open: make(chan struct{})}
		time.AfterFunc(time.Hour, func() { close(shared.open) }) // of the bubble
		if err := w.claimOf(ctx, shared)(1); err != nil || ctx.Err() != nil {
			t.Errorf("%v, %v", err, context.Cause(ctx))
		}
		<-ctx.Done() // the limits hold again
		var f *fault.Error
		if !errors.As(context.Cause(ctx), &f) || f.Code != fault.Network {
			t.Error(context.Cause(ctx))
		}
		if err := w.claimOf(ctx, &room{open: make(chan struct{})})(1); err == nil {
			t.Error("it waits after its caller has gone")
		}
	})
}

// However a body arrives, and whatever it announced, it is taken in as it is, or found
// too large.
func TestIntakeTakesBodiesAsTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := bytes.Repeat([]byte("0123456789"), rapid.IntRange(0, 20_000).Draw(t, "tens"))
		in := &intake{limit: rapid.Int64Range(0, 250_000).Draw(t, "limit"), hint: rapid.Int64Range(-1, 250_000).Draw(t, "hint")}
		from := io.Reader(bytes.NewReader(body))
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 1:
			from = iotest.DataErrReader(from)
		case 2:
			from = iotest.HalfReader(from)
		}
		err := in.readAll(from)
		if tooMuch := int64(len(body)) > in.limit; tooMuch != (err != nil) || !tooMuch && !bytes.Equal(in.joinParts(), body) {
			t.Fatalf("%d bytes of %d: %v", in.n, len(body), err)
		}
	})
}

// allocated is how many bytes a step takes from the heap, garbage included.
func allocated(step func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	step()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

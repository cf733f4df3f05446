package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/patra-ingest/patra/internal/core/access"
)

// sentFile is a file on its way to a caller.
type sentFile struct {
	name    string
	mark    string    // that tells versions apart; empty: it is sent whole, always
	made    time.Time // zero: not known
	content io.ReadSeekCloser
}

// unclosed is content that needs no closing.
type unclosed struct{ io.ReadSeeker }

// Close does nothing.
func (unclosed) Close() error { return nil }

// sendFile adds a route that gives a file.
func sendFile(a *api, o op, says string, open func(ctx context.Context, who access.Caller, id int64) (sentFile, error)) {
	o.Method = http.MethodGet
	described := a.describe(o)
	described.Responses = map[string]*huma.Response{"200": {Description: says, Content: map[string]*huma.MediaType{"application/octet-stream": {}}}}
	huma.Register(a.huma, described, func(ctx context.Context, in *ByID) (*huma.StreamResponse, error) {
		file, err := open(ctx, a.CallerOf(ctx), in.ID)
		if err != nil {
			return nil, a.newProblem(ctx, err)
		}
		return &huma.StreamResponse{Body: func(c huma.Context) {
			defer func() { _ = file.content.Close() }() // it was only read
			r, w := humago.Unwrap(c)
			file.serve(w, r)
		}}, nil
	})
}

// serve sends a file as one that browsers keep and never run (R8), whole or in part.
func (f sentFile) serve(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Type", "application/octet-stream")
	head.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s"`, f.name))
	head.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	head.Set("Cache-Control", "private, no-store")
	to := patientWriter{w, http.NewResponseController(w)}
	if f.mark == "" {
		_, _ = io.Copy(to, f.content) // the caller is gone: nobody is left to be told
		return
	}
	head.Set("ETag", f.mark)
	http.ServeContent(to, r, "", f.made, f.content)
}

// slowest is how long a reader may take for one piece of a file.
const slowest = 30 * time.Second

// patientWriter gives a large file the time it takes, as long as its reader reads.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Write sends one piece.
func (p patientWriter) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(slowest)) // where there is none, nothing has to be lifted
	return p.ResponseWriter.Write(b)
}

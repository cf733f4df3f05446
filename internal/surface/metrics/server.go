package metrics

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/secret"
)

// Served is what a server of metrics shows, and to whom.
type Served struct {
	Metrics *Gatherer
	// Token is what whoever reads /metrics has to bring as a bearer token; zero: nothing.
	Token secret.Text
	// Ready says why the process cannot work now; nil: it can. It is asked by every
	// request to /readyz, with a context that ends soon.
	Ready func(ctx context.Context) error
	// Compress is for readers on other machines. On this one it would only cost time: most
	// of a scrape.
	Compress bool
	Log      *slog.Logger
}

const patience = 3 * time.Second // for an answer to /readyz

// NewHandler answers /metrics, /healthz and /readyz.
func NewHandler(s Served) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", requireToken(s.Token, newScrapeHandler(s)))
	mux.Handle("GET /", NewHealthHandler(s.Ready))
	return mux
}

// NewHealthHandler answers /healthz and /readyz. Health is told to everybody, in one word:
// those who watch processes have no token, and nothing of it is worth hiding.
func NewHealthHandler(check func(ctx context.Context) error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeHealth(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		if err := check(ctx); err != nil {
			writeHealth(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
			return
		}
		writeHealth(w, http.StatusOK, "ready")
	})
	return mux
}

func writeHealth(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// requireToken lets only those in who bring the token. Hashes are compared, in a time that
// tells nothing of them.
func requireToken(token secret.Text, next http.Handler) http.Handler {
	if token.IsZero() {
		return next
	}
	want := sha256.Sum256([]byte(token.Reveal()))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(given))
		if !strings.EqualFold(kind, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeHealth(w, http.StatusUnauthorized, "a bearer token is needed")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// scrapeLog logs what a scrape could not show.
type scrapeLog struct{ log *slog.Logger }

// Println logs one problem of a scrape.
func (s scrapeLog) Println(v ...any) { s.log.Warn("metrics could not be shown", "problem", v) }

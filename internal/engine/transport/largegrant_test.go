package transport_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// A token endpoint that answers without an end is left, whatever the token is asked for with;
// nothing is sent with what it gave, and the error has none of it.
func TestATokenAnswerThatIsTooLarge(t *testing.T) {
	var sent atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /oauth/token", func(w http.ResponseWriter, _ *http.Request) {
		n, _ := fmt.Fprint(w, `{"access_token": "token-kanari", "token_type": "Bearer", "padding": "`)
		for range 512 {
			more, err := fmt.Fprint(w, strings.Repeat("kanari..", 1<<12))
			if n += more; err != nil {
				break
			}
		}
		sent.Store(int64(n))
	})
	mux.HandleFunc("GET /works/{credential}", func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for name, p := range examples(t, server.URL) {
		if p.Credential.Type != "OAUTH2" {
			continue
		}
		call := ask(t, p)
		call.Retry.MaxAttempts = 1
		_, err := transport.StackSigned(httpclient.New(httpclient.Options{}), safe, rategate.New()).Do(t.Context(), call)
		if err == nil || fault.As(err).Code != fault.TooLarge || strings.Contains(fmt.Sprintf("%v %+v", err, call), "kanari") {
			t.Errorf("%s: %v", name, err)
		}
	}
	server.Close() // waits for the answers
	if n := sent.Load(); n >= 16<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}

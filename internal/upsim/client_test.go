package upsim

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"
)

// envelope is a work-list answer as a client reads it.
type envelope struct {
	Status  string `json:"status"`
	Type    string `json:"message-type"`
	Message struct {
		NextCursor *string           `json:"next-cursor"`
		Total      int               `json:"total-results"`
		Items      []json.RawMessage `json:"items"`
		PerPage    int               `json:"items-per-page"`
	} `json:"message"`
}

func (e envelope) cursor(t testing.TB) string {
	t.Helper()
	if e.Message.NextCursor == nil {
		t.Fatal("no next-cursor")
	}
	return *e.Message.NextCursor
}

func serve(t testing.TB, d *Dataset, opts Options) *Server {
	t.Helper()
	s, err := NewServer(d, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func script(t testing.TB, text string) []Fault {
	t.Helper()
	faults, err := ParseFaults(text)
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

// oneShot uses a new connection for each request, because Go's transport hides
// a connection that was closed before any byte by asking again.
func oneShot(t testing.TB) *http.Client {
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func query(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return values
}

// ask gives the whole answer or the error a client sees, at whatever point.
func ask(client *http.Client, s *Server, path string, values url.Values) (*http.Response, []byte, error) {
	resp, err := client.Get(s.URL() + path + "?" + values.Encode())
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

func askList(t testing.TB, client *http.Client, s *Server, pairs ...string) envelope {
	t.Helper()
	resp, body, err := ask(client, s, "/works", query(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return e
}

// walkAll follows the cursor until a page is short.
func walkAll(t testing.TB, client *http.Client, s *Server, rows string, pairs ...string) []json.RawMessage {
	t.Helper()
	var all []json.RawMessage
	cursor := "*"
	for {
		e := askList(t, client, s, append([]string{"rows", rows, "cursor", cursor}, pairs...)...)
		all = append(all, e.Message.Items...)
		if len(e.Message.Items) < e.Message.PerPage {
			return all
		}
		if len(all) > 2*e.Message.Total {
			t.Fatalf("the walk gave %d works of %d and goes on", len(all), e.Message.Total)
		}
		cursor = e.cursor(t)
	}
}

func doiOf(t testing.TB, work []byte) string {
	t.Helper()
	var w struct{ DOI string }
	if err := json.Unmarshal(work, &w); err != nil {
		t.Fatal(err)
	}
	return w.DOI
}

package simulated_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/secrets"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

var (
	from = time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	day  = window.Window{From: from, To: from.AddDate(0, 0, 1)}
)

func works(count int) *upsim.Dataset {
	return upsim.NewDataset(upsim.Config{Seed: 3, From: from, To: from.AddDate(0, 0, 1), PerDay: count, Flat: true})
}

// plainSender is the standard client: a second opinion on what the files say.
type plainSender struct{}

func (plainSender) Send(ctx context.Context, r *exchange.Request) (*exchange.Response, error) {
	out, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	out.Header = http.Header(r.Header)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(out)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return &exchange.Response{Status: response.StatusCode, Header: exchange.Header(response.Header), Body: body}, err
}

// free permits everything at once.
type free struct{}

func (free) Acquire(context.Context, gate.Ask) (transport.Permit, error) {
	return free{}, nil
}
func (free) Done(gate.Signal) {}

// reader asks one source.
type reader struct {
	*testing.T
	program *spec.Program
	chain   transport.Doer
}

func newReader(t *testing.T, c *spec.Compiled) reader {
	t.Helper()
	program, err := c.Snapshot.Program()
	if err != nil {
		t.Fatal(err)
	}
	return reader{t, program, transport.StackSigned(plainSender{}, secrets.Limited{}, free{})}
}

func (r reader) ask(p *spec.Program, request *exchange.Request, err error) *extract.Page {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	response, err := r.chain.Do(r.Context(), &transport.Call{Request: request, Retry: p.Retry})
	if err != nil {
		r.Fatal(err)
	}
	page, err := p.Page(response, extract.Asked{Window: day, FetchAt: day.To})
	if err != nil {
		r.Fatalf("%v in %d %s", err, response.Status, response.Body)
	}
	return page
}

func (r reader) page(state paging.State) *extract.Page {
	r.Helper()
	question, err := r.program.Ask(day, day.To)
	if err != nil {
		r.Fatal(err)
	}
	request, err := question.Page(state)
	return r.ask(r.program, request, err)
}

// records is the whole records of a page, in two steps where there are two.
func (r reader) records(p *extract.Page) []record.Incoming {
	r.Helper()
	if r.program.Detail == nil {
		return p.Records
	}
	var ids []string
	for _, found := range p.Records {
		ids = append(ids, found.ProviderID)
	}
	if len(ids) == 0 {
		return nil
	}
	request, err := r.program.Detail.AskFor(ids, day.To).Page(paging.State{})
	return r.ask(r.program.Detail, request, err).Records
}

// walk follows the list by the program's own rules.
func (r reader) walk() (all []record.Incoming, pages int) {
	r.Helper()
	seen := map[record.Key]bool{}
	for state := r.program.Paging.First(); ; pages++ {
		page := r.page(state)
		all = append(all, r.records(page)...)
		says := page.Says
		for _, key := range page.Keys {
			if !seen[key] {
				seen[key], says.New = true, says.New+1
			}
		}
		d := r.program.Paging.Advance(state, says)
		switch {
		case d.Err != nil:
			r.Fatalf("after %d pages: %v", pages+1, d.Err)
		case d.Done:
			return all, pages + 1
		}
		state = d.Next
	}
}

// check holds records against the truth: each work once, with its stamp and version.
func check(t *testing.T, data *upsim.Dataset, got []record.Incoming) {
	t.Helper()
	if len(got) != data.Len() {
		t.Errorf("%d records, want %d", len(got), data.Len())
	}
	var ids []string
	for _, r := range got {
		ids = append(ids, r.ProviderID)
		w, ok := data.Lookup(r.ProviderID)
		if !ok || !w.Indexed.Equal(r.UpdatedAt) || int64(w.Version) != r.SourceVersion || !bytes.Contains(r.Fields, []byte(`"title":"`)) {
			t.Errorf("%+v, want %s at %s", r, w.DOI, w.Indexed)
		}
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != len(got) {
		t.Error("a work came twice")
	}
}

// Every file is whole, and says what the simulator does: a clean walk by it gives
// the truth.
func TestFormsReadTheTruth(t *testing.T) {
	for _, form := range simulated.Forms() {
		t.Run(form.Name, func(t *testing.T) {
			for _, count := range []int{0, 7, 30, 34} {
				if form.Name == "time" && count > 7 {
					continue // a full page asks for a narrower window, which is the executor's business
				}
				data := works(count)
				_, compiled := form.Start(t, data, "")
				got, _ := newReader(t, compiled).walk()
				check(t, data, got)
			}
		})
	}
}

func TestFormNamesAreUnique(t *testing.T) {
	names := map[string]bool{}
	for _, form := range simulated.Forms() {
		if names[form.Name] {
			t.Errorf("%s stands there twice", form.Name)
		}
		names[form.Name] = true
	}
	for _, name := range upsim.FormNames() {
		if !names[name] && name != "records" && name != "records-xml" {
			t.Errorf("no file reads /forms/%s", name)
		}
	}
}

// A full page of a window says that there may be more.
func TestTimeIsTooWide(t *testing.T) {
	for _, form := range simulated.Forms() {
		if form.Name != "time" {
			continue
		}
		_, compiled := form.Start(t, works(34), "")
		r := newReader(t, compiled)
		page := r.page(r.program.Paging.First())
		if d := r.program.Paging.Advance(r.program.Paging.First(), page.Says); len(page.Records) != simulated.PageSize || d.Done || d.Err == nil {
			t.Errorf("%d records, %+v", len(page.Records), d)
		}
	}
}

// Without its credential nothing is answered; with a token that ends in the
// middle of a walk a new one is asked for.
func TestAuthFormsAreGuarded(t *testing.T) {
	for _, form := range simulated.AuthForms() {
		t.Run(form.Name, func(t *testing.T) {
			renews := form.Options.Forms.Auth.Kind == upsim.AuthOAuth || form.Options.Forms.Auth.Kind == upsim.AuthSession
			if renews {
				form.Options.Forms.Auth.TokenUses = 2
			}
			data := works(34)
			server, compiled := form.Start(t, data, "")
			got, pages := newReader(t, compiled).walk()
			check(t, data, got)
			if want := (pages + 1) / 2; renews && server.TokensIssued() != want {
				t.Errorf("%d tokens for %d pages, want %d", server.TokensIssued(), pages, want)
			}
			response, err := http.Get(server.URL() + "/forms/token")
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusUnauthorized {
				t.Errorf("an anonymous request got %d", response.StatusCode)
			}
		})
	}
}

package blackbox

import (
	"slices"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// Reading is an answer, read.
type Reading struct {
	Status  int
	SHA256  string
	Err     *fault.Error // why the answer is no page
	Seen    int          // items the batch accounts for
	Outside int
	Twice   int
	// Excluded are items that a rule of the source left out.
	Excluded int
	Next     string // where the next page is, in the words of the ledger
	Named    bool   // the page named a next one
	Total    *int64
	Records  []record.Incoming
	Rejects  []record.Reject
	found    bool // only ids were looked for
	counted  bool // the next page follows from the size of this one
}

// Read reads an answer as the batch did, under a program of today or of then. sum is
// the SHA-256 of its body, if the caller has checked it already.
func (b *Box) Read(p *spec.Program, r Role, answer *exchange.Response, sum string) *Reading {
	if sum == "" {
		sum = fingerprint.Bytes(answer.Body)
	}
	out := &Reading{Status: answer.Status, SHA256: sum}
	if out.Err = p.Retry.ClassifyStatus(answer.Status); out.Err != nil && !r.readerOf(p).SaysEmpty(answer) {
		return out
	}
	out.Err = nil
	page, err := r.readerOf(p).Page(answer, b.expectedItems(p, r))
	if err != nil {
		out.Err = fault.As(err)
		return out
	}
	out.Seen, out.Outside, out.Twice, out.Total = page.Seen, page.Outside, page.Duplicate, page.Says.Total
	out.Excluded = page.Excluded
	out.Records, out.Rejects = page.Records, page.Rejects
	out.Named = page.Says.Token+page.Says.URL != ""
	out.counted = p.Paging.Type != paging.Token && p.Paging.Type != paging.URL
	if b.Batch.Operation == string(ingest.Update) {
		for i := range out.Records {
			out.Records[i].Remap = true
		}
	}
	switch r.role {
	case searchPage:
		out.found, out.Seen, out.Outside, out.Excluded, out.Twice = true, len(page.Rejects), 0, 0, 0
	case remapped:
		out.keepOnly(r.context.IDs)
		out.onlyItems(r.context.Items)
	}
	if r.role == listPage || r.role == searchPage {
		out.Next = b.nextToken(p, r, page)
	}
	return out
}

// expectedItems returns what items were compared with. Older programs dropped what lay
// outside of the slice: the account of a batch tells.
func (b *Box) expectedItems(p *spec.Program, r Role) extract.Asked {
	asked := extract.Asked{Window: r.window, FetchAt: b.At(), MappingID: b.MappingID}
	switch {
	case r.window == anyTime:
	case b.Batch.Stats.Outside > 0:
		asked.Drop = true
	default:
		if in, err := r.programIn(p); err == nil { // a source that has other parts by now reads none of them
			p = in
		}
		asked = p.Expect(r.window, asked.FetchAt, asked.MappingID)
	}
	if r.AsksDetail() || r.role == remapped && r.context.Detail {
		asked.IDs = r.context.IDs
	}
	return asked
}

// keepOnly keeps what a batch that was read from the answer to another one took of it.
func (r *Reading) keepOnly(ids []string) {
	if len(ids) > 0 {
		wanted := map[string]bool{}
		for _, id := range ids {
			wanted[id] = true
		}
		r.Records = slices.DeleteFunc(slices.Clone(r.Records), func(in record.Incoming) bool { return !wanted[in.ProviderID] })
		r.Rejects = slices.DeleteFunc(slices.Clone(r.Rejects), func(bad record.Reject) bool { return !wanted[bad.ProviderID] })
	}
	r.Seen, r.Outside, r.Excluded, r.Twice = len(r.Records)+len(r.Rejects), 0, 0, 0
}

// onlyItems does so for items that were in quarantine.
func (r *Reading) onlyItems(hashes []string) {
	if len(hashes) == 0 {
		return
	}
	r.Records = slices.DeleteFunc(slices.Clone(r.Records), func(in record.Incoming) bool { return !slices.Contains(hashes, fingerprint.Bytes(in.Payload)) })
	r.Rejects = slices.DeleteFunc(slices.Clone(r.Rejects), func(bad record.Reject) bool { return !slices.Contains(hashes, fingerprint.Bytes(bad.Raw)) })
	r.Seen = len(r.Records) + len(r.Rejects)
	for i := range r.Records {
		r.Records[i].Remap = false // they never were stored, so nothing is mapped anew
	}
}

// nextToken returns where the walk went on.
func (b *Box) nextToken(p *spec.Program, r Role, page *extract.Page) string {
	state, err := b.stateBefore(p.Paging, r)
	if err != nil {
		state = r.context.Paging // its next page does not depend on a token
	}
	config, said := p.Paging, page.Says
	if r.context.Size > 0 {
		config.Size = r.context.Size
	}
	said.New = said.Items
	return config.Position(config.Advance(state, said).Next)
}

// IDs returns those of the records of a reading.
func (r *Reading) IDs() (ids []string) {
	for _, in := range r.Records {
		ids = append(ids, in.ProviderID)
	}
	return ids
}

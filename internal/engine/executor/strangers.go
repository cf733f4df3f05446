package executor

import (
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
)

// keysOf returns the keys of ids.
func keysOf(ids []string) map[record.Key]bool {
	out := make(map[record.Key]bool, len(ids))
	for _, id := range ids {
		out[record.KeyOf(id)] = true
	}
	return out
}

// checkAnswered refuses an answer that is about others than those asked for. A source
// may declare that such an answer to one id means a merge.
func (d *detailWalk) checkAnswered(ids []string, page *extract.Page) *fault.Error {
	if len(ids) == 1 && d.program.Details.Redirects {
		return nil
	}
	return page.CheckAnswers(ids)
}

// countStrangers returns how many records of an answer nobody asked for. They are kept,
// since the store decides which version of a record wins, but they say nothing about the
// ids that were asked for.
func countStrangers(ids []string, page *extract.Page) (n int) {
	asked := keysOf(ids)
	for _, in := range page.Records {
		if !asked[record.KeyOf(in.ProviderID)] {
			n++
		}
	}
	return n
}

// firstAsked returns an id that was asked for and came; empty if none did.
func firstAsked(ids []string, page *extract.Page) string {
	asked := keysOf(ids)
	for _, in := range page.Records {
		if asked[record.KeyOf(in.ProviderID)] {
			return in.ProviderID
		}
	}
	return ""
}

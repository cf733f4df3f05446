package blackbox

import (
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Context is what a batch keeps beside its request: what the ledger does not say,
// and without which the request could not be rendered, nor its answer judged, as
// it was.
type Context struct {
	At     time.Time    `json:"at,omitzero"`    // the store's clock before the request was sent
	Asked  time.Time    `json:"asked,omitzero"` // now() of the templates, if that was another instant
	Size   int          `json:"size,omitempty"` // items a page was asked for
	Paging paging.State `json:"paging,omitzero"`
	// AxisPart is the part of the second axis that was asked for (slicing.second); nil: all of
	// the window was.
	AxisPart *slicing.AxisPart `json:"axisPart,omitempty"`
	// Parent is the stored record that was asked for, where the parts of the list are records.
	Parent *AskedParent `json:"parent,omitempty"`
	// Detail: a DETAIL endpoint was asked, for these ids.
	Detail bool     `json:"detail,omitempty"`
	IDs    []string `json:"ids,omitempty"`
	// Items of another answer that were read again, by their hash: they were in
	// quarantine, and some have no id.
	Items []string `json:"items,omitempty"`
	// Beside are items the batch accounts for that were not in the answer, such as
	// ids without a detail. Ignored: nothing of the answer was taken.
	Beside  int  `json:"beside,omitempty"`
	Ignored bool `json:"ignored,omitempty"`
	// Missed are ids that were asked for and did not come. Some of them are in the
	// account: those whose records are gone for it, and those that were rejected.
	Missed int `json:"missed,omitempty"`
	// File is the part of a file that the batch was read from; nobody was asked for it alone.
	File *FilePart `json:"file,omitempty"`
	// Why there is a next page of a list, or none: the rule that decided.
	Why string `json:"why,omitempty"`
}

// AskedParent is a stored record as a request named it.
type AskedParent struct {
	Name   string            `json:"name"`
	Values map[string]string `json:"values"`
	Window window.Window     `json:"window,omitzero"` // if it was another than that of the slice
}

// FilePart is a part of an unpacked file.
type FilePart struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // of the file as it was served
	From   int64  `json:"from"`   // bytes before it
	To     int64  `json:"to"`
	Items  int64  `json:"items"` // items of the file up to its end
}

// Evidence is what a batch keeps of its request.
type Evidence struct {
	exchange.RequestDigest
	Context *Context `json:"context,omitempty"`
}

// Standing returns where a walk stood, without what the ledger has in columns of
// its own and would have twice.
func Standing(c paging.Config, s paging.State) paging.State {
	if c.Position(s) == s.Token+s.URL {
		s.Token, s.URL = "", ""
	}
	return s
}

// Remapped is the origin of a batch that nobody was asked for.
type Remapped struct {
	Batch int64  `json:"batch"`
	Raw   string `json:"raw"`
}

// keptContext returns the context of a batch. One of an earlier program has none.
func (b *Box) keptContext() (c Context, known bool, from *Remapped) {
	var evidence struct {
		Context  *Context  `json:"context"`
		Remapped *Remapped `json:"remapped"`
	}
	if json.Unmarshal(b.Batch.Request, &evidence) != nil || evidence.Context == nil {
		return Context{At: b.Batch.CommittedAt, Size: b.PageSize}, false, evidence.Remapped
	}
	return *evidence.Context, true, evidence.Remapped
}

// At returns the instant by which items of the batch are ordered.
func (b *Box) At() time.Time {
	if c, known, _ := b.keptContext(); known && !c.At.IsZero() {
		return c.At
	}
	for _, w := range b.Written {
		return w.FetchAt
	}
	return b.Batch.CommittedAt
}

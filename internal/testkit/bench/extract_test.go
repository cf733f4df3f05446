package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/window"
)

var errShort = errors.New("not all items were read")

// readers are ways to read the same page with the bundled mapping.
type readers struct {
	body     []byte
	document *document.Reader
	extract  *extract.Reader
}

func newReaders(tb testing.TB) readers {
	tb.Helper()
	snapshot := compile(tb).Snapshot
	program, err := snapshot.Program()
	if err != nil {
		tb.Fatal(err)
	}
	c := snapshot.Response
	shape := document.Shape{Items: c.Items, Page: []document.Path{c.Total.Path(), c.NextToken.Path()}, Item: []document.Path{c.ID.Path(), c.UpdatedAt.Path()}}
	for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
		shape.Item = append(shape.Item, c.Fields[name].Path())
	}
	reader, err := document.Compile(shape)
	if err != nil {
		tb.Fatal(err)
	}
	return readers{richPage(), reader, program.Read}
}

// askedForAll is a window that every item of the page lies in.
var askedForAll = extract.Asked{Window: window.Window{From: firstDay.AddDate(0, -1, 0), To: firstDay.AddDate(0, 1, 0)}}

func (r readers) read() error {
	page, err := r.document.Read(r.body, document.Limits{})
	if err == nil && len(page.Items) != pageItems {
		err = errShort
	}
	return err
}

func (r readers) extracted() (*extract.Page, error) {
	return r.extract.Read(r.body, askedForAll)
}

func (r readers) whole() error {
	page, err := r.extracted()
	if err == nil && len(page.Records) != pageItems {
		err = errShort
	}
	return err
}

func (r readers) hand(withFields bool) error {
	h := newHand(r.body)
	records, err := h.page(func() (handRecord, error) { return h.all(withFields) })
	if err == nil && len(records) != pageItems {
		err = errShort
	}
	return err
}

// library decodes with encoding/json into structs made for Crossref.
func (r readers) library() error {
	var page barePage
	if err := json.Unmarshal(r.body, &page); err != nil {
		return err
	}
	if len(page.Message.Items) != pageItems {
		return errShort
	}
	for _, raw := range page.Message.Items {
		var work bareWork
		if err := json.Unmarshal(raw, &work); err != nil {
			return err
		}
	}
	return nil
}

// benchExtract compares reading a page with readers written for it.
func benchExtract(b *testing.B, out *table) {
	b.Run("eight", func(b *testing.B) { benchEight(b, out) })
	b.Run("all", func(b *testing.B) { benchAll(b, out) })
}

// benchAll is with the bundled mapping, 24 fields and all.
func benchAll(b *testing.B, out *table) {
	r := newReaders(b)
	var read, whole, hand, handWhole, library samples
	repeat(b, 50, func() {
		read.time(b, r.read)
		hand.time(b, func() error { return r.hand(false) })
		library.time(b, r.library)
		whole.time(b, r.whole)
		handWhole.time(b, func() error { return r.hand(true) })
	})
	add := func(what string, ours, reference samples, reads string) {
		what = fmt.Sprintf("%s, %d KB page of 100 (mean / p95)", what, len(r.body)/1000)
		out.add(b, line{what, ours.String(), reference.String(), ours.middle(reference), reads + "; medians"})
	}
	add("find all fields", read, hand, "our time / jsontext by hand")
	add("find all fields", read, library, "our time / encoding/json")
	add("extract 24 fields with content hash", whole, handWhole, "our time / jsontext by hand, no hash")
}

// The reference must do the same work, or the ratio means nothing.
func TestHandWrittenReaderFindsTheSame(t *testing.T) {
	r := newReaders(t)
	if kb := len(r.body) / 1000; kb < 450 || kb > 550 {
		t.Errorf("page of %d KB, want about 500", kb)
	}
	page, err := r.extracted()
	if err != nil {
		t.Fatal(err)
	}
	h := newHand(r.body)
	hand, err := h.page(func() (handRecord, error) { return h.all(true) })
	if err != nil || len(hand) != pageItems || len(page.Records) != pageItems {
		t.Fatalf("by hand %d, extracted %d, %v", len(hand), len(page.Records), err)
	}
	for i, h := range hand {
		h.mustEqual(t, i, page.Records[i])
	}
	if err := r.library(); err != nil {
		t.Error(err)
	}
}

package spec

import (
	"reflect"
	"time"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Expect returns what the items of an answer are compared with when a window was asked
// for. Where the upstream filters, that is the request as it was rendered: with its
// precision, its zone and its bounds, so that a source which is asked by whole days is
// not suspect for the rest of a day. Items outside of it are kept all the same. Only
// where the list comes unfiltered do we filter, by the window (D§5.11). Where a request
// has no upper bound, everything from the lower one on was asked for, and of a list that is read whole everything is.
func (p *Program) Expect(w window.Window, fetchAt time.Time, mapping int64) extract.Asked {
	if p.ReadsWhole() {
		return extract.Asked{FetchAt: fetchAt, MappingID: mapping, Sector: p.sector.Values} // whatever there is
	}
	asked := extract.Asked{Window: w, Slice: w, Unit: p.UnitOf(w), Drop: p.sifts, FetchAt: fetchAt, MappingID: mapping, Sector: p.sector.Values}
	if p.sifts || w.Empty() {
		return asked
	}
	asked.Window = p.Filter.Selected(w)
	if p.ends == query.FromOnly {
		asked.Window.To, asked.Open = w.To, true
	}
	return asked
}

// siftsItself reports whether nothing upstream selects by the window: the source
// says so, or it is the list of an UPDATE, and the request is the same for every
// window. A request that changes with the window, such as one that names its day,
// gets what the upstream counts to that day, and no other request gets it (I2).
func (p *Program) siftsItself() bool {
	if p.Filter.Field == "" {
		return true
	}
	since := p.Window.UpdatedSince == nil || *p.Window.UpdatedSince
	return (!since || p.ends == query.NoEnds || p.Operation == ingest.Update) && !p.sendsWindow()
}

// sendsWindow renders two windows and looks whether that makes a difference.
func (p *Program) sendsWindow() bool {
	other := window.Window{From: referenceWindow.From.AddDate(1, 1, 1), To: referenceWindow.To.AddDate(1, 1, 1)}
	var shown []any
	for _, w := range []window.Window{referenceWindow, other} {
		question, err := p.Ask(w, referenceWindow.To)
		if err != nil {
			return true // what cannot be rendered is never asked
		}
		selection, err := p.Render.Selection(question.varsAt(p.Paging.First()))
		if err != nil {
			return true
		}
		shown = append(shown, selection)
	}
	return !reflect.DeepEqual(shown[0], shown[1])
}

package extract

import (
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
)

// verdictOf returns what retryWhen and giveUpWhen say of an answer; nil if
// nothing. A predicate that cannot be answered is an error, as for errorWhen.
func (r *Reader) verdictOf(told facts) *fault.Error {
	for _, list := range []struct {
		key    string
		places []valueSlot
		code   fault.Code
	}{
		{"giveUpWhen", r.page.giveUpWhen, fault.BadRequest},
		{"retryWhen", r.page.retryWhen, fault.BadBody},
	} {
		which, saw, err := firstTrue(list.places, list.key, told)
		switch {
		case err != nil:
			return fault.New(fault.BadBody, err)
		case which != nil:
			return fault.Newf(list.code, "the answer reports an error: %s %s saw %s", list.key, which, saw)
		}
	}
	return nil
}

// ConfirmsEmpty reports whether an answer whose status is one of emptyStatus says in its body that
// nothing was found: it is a document of the source, emptyWhen holds of it, and it has no items. A
// proxy, a wrong path or a service that is down answers with the same status.
func (r *Reader) ConfirmsEmpty(status int, body []byte) bool {
	if !slices.Contains(r.config.EmptyStatus, status) {
		return false
	}
	doc, err := r.document.Read(body, document.Limits{})
	if err != nil {
		return false
	}
	told := facts{found: doc.Values}
	r.dropWordOfNothing(doc, told)
	if len(doc.Items) > 0 {
		return false
	}
	which, _, err := firstTrue(r.page.emptyWhen, "emptyWhen", told)
	return err == nil && which != nil && r.verdictOf(told) == nil
}

// dropWordOfNothing leaves out the one object that is the whole answer, where it only says that nothing was found: emptyWhen holds of
// it, and it has no id. A path to the item cannot tell it from one.
func (r *Reader) dropWordOfNothing(doc *document.Page, told facts) {
	if !r.config.Single || r.config.Items.String() != "$" || r.config.ID.IsTemplate() || len(doc.Items) != 1 {
		return
	}
	if which, _, err := firstTrue(r.page.emptyWhen, "emptyWhen", told); err != nil || which == nil {
		return
	}
	one := entry{Item: doc.Items[0], facts: facts{found: doc.Items[0].Values}}
	if refused := r.setID(&record.Incoming{}, one); refused != nil && refused.reason == record.MissingID {
		doc.Items = nil
	}
}

// EmptyPage returns the page of an answer without content (204). What a walk knows of totals and
// ends holds for it as for every page without items.
func (r *Reader) EmptyPage() *Page {
	none := int64(0) // said as clearly as by a total; of a list that announced more it is believed as little
	page := &Page{EmptyBy: "status 204"}
	page.Says.Total, page.Says.TotalAt = &none, r.config.Total.String()
	page.Says.NextAt = r.nextAt(page.Says)
	return page
}

// Weigh lets the body of an answer that is no success say whether it is worth
// another try (§4.11). A body that is not the format of the source, such as the
// page of a proxy, says nothing: then its status decides alone.
func (r *Reader) Weigh(body []byte, f *fault.Error) *fault.Error {
	if len(r.page.retryWhen)+len(r.page.giveUpWhen) == 0 {
		return f
	}
	doc, err := r.document.Read(body, document.Limits{})
	if err != nil {
		return f
	}
	told := facts{found: doc.Values}
	for _, list := range []struct {
		key    string
		places []valueSlot
		level  fault.Level
	}{
		{"giveUpWhen", r.page.giveUpWhen, fault.Request},
		{"retryWhen", r.page.retryWhen, fault.Transient},
	} {
		if which, saw, err := firstTrue(list.places, list.key, told); err == nil && which != nil {
			weighed := *f
			weighed.Level = list.level
			weighed.Err = fmt.Errorf("%w: %s %s saw %s", f.Err, list.key, which, saw)
			return &weighed
		}
	}
	return f
}

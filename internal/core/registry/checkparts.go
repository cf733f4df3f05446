package registry

import (
	"github.com/patra-ingest/patra/internal/core/paging"
)

// checkParts refuses names of members where items are none, items that are taken apart where each must
// be one record, and rows that are none.
func (r *Resolved) checkParts() (out Problems) {
	c := r.Response
	refuse := func(key, code, why, hint string) {
		if why != "" {
			out = append(out, r.problemAt(Path{"response", key}, code+": "+why, hint))
		}
	}
	if !c.Items.IsZero() {
		why, hint := c.CheckKey()
		refuse("items", "E-KEY", why, hint)
	}
	why, hint := c.CheckTable()
	refuse("table", "E-TABLE", why, hint)
	why, hint = c.CheckExpand()
	refuse("expand", "E-EXPAND", why, hint)
	if c.Expand == nil || why != "" {
		return out
	}
	switch {
	case r.Role == roleDetail:
		refuse("expand", "E-EXPAND", "a DETAIL endpoint is asked for ids of records, and what it answers with is compared with them", "take items apart where they are searched")
	case r.Role == roleListing:
		refuse("expand", "E-EXPAND", "a listing names files, one with each item", "name the files with response.items")
	case r.Window.Ordered:
		refuse("expand", "E-EXPAND", "the list is sorted by date (window.order, window.ordered), and how far it was read is told by the date of each item, which becomes several records", "drop window.order: the list is read to its end")
	case r.Paging.Type == paging.Time:
		refuse("expand", "E-EXPAND", "paging by TIME goes on from the dates of the records, and the upstream counts items", "page by another type")
	}
	return out
}

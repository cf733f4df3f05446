package upsim

import (
	"cmp"
	"slices"
)

// ShelfNames are the parts of the list that must be asked for one by one: every work stands on one of them.
func ShelfNames() []string { return []string{"a", "b", "c", "d"} }

// shelfForm is a list that is given shelf by shelf only.
func shelfForm() form {
	return form{name: "shelves", how: byToken, next: nextToken, tokenIn: tokenInQuery, total: true, shelf: true}
}

// parseShelf reads which shelf is asked for.
func (q *formQuery) parseShelf(opts FormOptions) error {
	name := q.params.Get("shelf")
	if q.form.shelf && (name == "" || opts.Shelf == nil && !slices.Contains(ShelfNames(), name)) {
		return &refusal{"shelf-not-valid", name, "Name one of the shelves a to d."}
	}
	return nil
}

// onShelf keeps the works of the shelf that is asked for.
func (s *Server) onShelf(q formQuery, items []item) []item {
	if !q.form.shelf {
		return items
	}
	lies := s.currentLies()
	if lies.AllShelves {
		return items
	}
	shown := cmp.Or(lies.OnlyShelf, q.params.Get("shelf"))
	return slices.DeleteFunc(items, func(it item) bool { return s.shelfOf(it) != shown })
}

// shelfOf returns the shelf that a work stands on.
func (s *Server) shelfOf(it item) string {
	if of := s.opts.Forms.Shelf; of != nil {
		return of(s.data.doiOf(it.seq))
	}
	all := ShelfNames()
	return all[int(it.seq)%len(all)]
}

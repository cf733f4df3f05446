package upsim

import "slices"

// ShelfNames are the parts of the list that must be asked for one by one: every work stands on one of them.
func ShelfNames() []string { return []string{"a", "b", "c", "d"} }

// shelfForm is a list that is given shelf by shelf only.
func shelfForm() form {
	return form{name: "shelves", how: byToken, next: nextToken, tokenIn: tokenInQuery, total: true, shelf: true}
}

// parseShelf reads which shelf is asked for.
func (q *formQuery) parseShelf() error {
	if name := q.params.Get("shelf"); q.form.shelf && !slices.Contains(ShelfNames(), name) {
		return &refusal{"shelf-not-valid", name, "Name one of the shelves a to d."}
	}
	return nil
}

// onShelf keeps the works of the shelf that is asked for.
func (q formQuery) onShelf(items []item) []item {
	if !q.form.shelf {
		return items
	}
	all := ShelfNames()
	return slices.DeleteFunc(items, func(it item) bool { return all[int(it.seq)%len(all)] != q.params.Get("shelf") })
}

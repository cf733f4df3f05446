package registry

import (
	"database/sql"
	"slices"

	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// dictionaryWrites is what one phase of seeding has to write. Inserts come
// without the two instants every row ends with.
type dictionaryWrites struct {
	table, columns string
	inserts        [][]any
	updates        []dictionaryUpdate
}

type dictionaryUpdate struct {
	set  string // "" deletes the row
	args []any
	id   int64
}

func (w dictionaryWrites) countRows() int { return len(w.inserts) + len(w.updates) }

// writeDictionary changes rows before it adds new ones: a list gives up its old
// default before another item may have it.
func (t *tx) writeDictionary(w dictionaryWrites) error {
	for _, u := range w.updates {
		query, args := "DELETE FROM "+w.table+" WHERE id = ?", []any{u.id}
		if u.set != "" {
			query = "UPDATE " + w.table + " SET " + u.set + ", updated_at = ?, version = version + 1 WHERE id = ?"
			args = append(slices.Clone(u.args), kernel.Micros(t.Now), u.id)
		}
		if err := t.ExecOne(query, args...); err != nil {
			return err
		}
	}
	for i, row := range w.inserts {
		w.inserts[i] = append(row, kernel.Micros(t.Now), kernel.Micros(t.Now))
	}
	if len(w.inserts) == 0 {
		return nil
	}
	return t.InsertMany(w.table, w.columns+", created_at, updated_at", len(w.inserts[0]), w.inserts)
}

// seedPhases returns the phases of seeding. They are separate because items need the ids of their lists, and aliases
// those of their items.
func seedPhases() []func(dictionaryRows, []dictionary.Type) dictionaryWrites {
	return []func(dictionaryRows, []dictionary.Type) dictionaryWrites{seedTypes, seedItems, seedAliases}
}

func seedTypes(stored dictionaryRows, wanted []dictionary.Type) dictionaryWrites {
	w := dictionaryWrites{table: "sys_dict_type", columns: "type_code, type_name, allow_custom_items, is_system"}
	for _, list := range wanted {
		row, ok := stored.typeOf(list.Code)
		switch {
		case !ok:
			w.inserts = append(w.inserts, []any{list.Code, list.Name, kernel.BoolInt(list.Custom), 1})
		case row.name != list.Name || row.custom != list.Custom || !row.system:
			w.updates = append(w.updates, dictionaryUpdate{
				"type_name = ?, allow_custom_items = ?, is_system = 1", []any{list.Name, kernel.BoolInt(list.Custom)}, row.id})
		}
	}
	return w
}

// Marks of items in record_remarks. They tell what the program wrote from what
// operators added, and what it switched off itself from what they did.
const (
	markSeeded  = `{"seeded":true}`
	markRetired = `{"seeded":true,"retired":true}`
)

func (r dictItemRow) isSeeded() bool { return r.mark == markSeeded || r.mark == markRetired }

const itemColumns = "type_id, item_code, item_name, display_order, is_default, enabled, default_key, record_remarks"

func seedItems(stored dictionaryRows, wanted []dictionary.Type) dictionaryWrites {
	w := dictionaryWrites{table: "sys_dict_item", columns: itemColumns}
	var rising []dictionaryUpdate // items that become the default go last, see writeDictionary
	for _, list := range stored.types {
		at := slices.IndexFunc(wanted, func(t dictionary.Type) bool { return t.Code == list.code })
		if at < 0 && !list.system {
			continue // an operator's own list
		}
		var known []dictionary.Item
		if at >= 0 {
			known = wanted[at].Items
		}
		foreignDefault := false
		for _, row := range stored.items {
			if row.typeID != list.id || slices.ContainsFunc(known, func(i dictionary.Item) bool { return i.Code == row.code }) {
				continue
			}
			if list.custom && !row.isSeeded() {
				foreignDefault = foreignDefault || row.defaultKey.Valid
				continue
			}
			w.updates = append(w.updates, row.updatesTo(row.retireItem())...)
		}
		for i, item := range known {
			row, exists := stored.itemOf(list.id, item.Code)
			next := seededItem(row, exists, list.id, i, item, foreignDefault)
			switch {
			case !exists:
				w.inserts = append(w.inserts, next.columnValues())
			case next.defaultKey.Valid && !row.defaultKey.Valid:
				rising = append(rising, row.updatesTo(next)...)
			default:
				w.updates = append(w.updates, row.updatesTo(next)...)
			}
		}
	}
	w.updates = append(w.updates, rising...)
	return w
}

// seededItem returns how an item of the program should be stored.
func seededItem(row dictItemRow, exists bool, list int64, position int, item dictionary.Item, foreignDefault bool) dictItemRow {
	next := dictItemRow{
		id: row.id, typeID: list, code: item.Code, name: item.Name(), order: int64(10 * (position + 1)),
		isDefault: item.Default && !foreignDefault, mark: markSeeded,
		enabled: !exists || row.enabled || row.mark == markRetired,
	}
	if next.isDefault && next.enabled {
		next.defaultKey = sql.NullInt64{Int64: list, Valid: true}
	}
	return next
}

func (r dictItemRow) retireItem() dictItemRow {
	r.isDefault, r.enabled, r.defaultKey, r.mark = false, false, sql.NullInt64{}, markRetired
	return r
}

// updatesTo returns the update from one state to another, none if they are the
// same.
func (r dictItemRow) updatesTo(next dictItemRow) []dictionaryUpdate {
	if r == next {
		return nil
	}
	return []dictionaryUpdate{{
		"item_name = ?, display_order = ?, is_default = ?, enabled = ?, default_key = ?, record_remarks = ?", next.columnValues()[2:], r.id}}
}

// columnValues returns those of itemColumns.
func (r dictItemRow) columnValues() []any {
	return []any{r.typeID, r.code, r.name, r.order, kernel.BoolInt(r.isDefault), kernel.BoolInt(r.enabled), r.defaultKey, r.mark}
}

// seedAliases owns the aliases of the systems it names; those of other systems
// are the operator's.
func seedAliases(stored dictionaryRows, wanted []dictionary.Type) dictionaryWrites {
	w := dictionaryWrites{table: "sys_dict_item_alias", columns: "item_id, type_id, source_system, external_code"}
	kept, systems := map[int64]bool{}, map[string]bool{}
	for _, list := range wanted {
		typeRow, _ := stored.typeOf(list.Code)
		for _, item := range list.Items {
			itemRow, _ := stored.itemOf(typeRow.id, item.Code)
			for _, alias := range item.Aliases {
				systems[alias.System] = true
				at := slices.IndexFunc(stored.aliases, func(a dictAliasRow) bool {
					return a.typeID == typeRow.id && a.system == alias.System && a.code == alias.Code
				})
				if at < 0 {
					w.inserts = append(w.inserts, []any{itemRow.id, typeRow.id, alias.System, alias.Code})
					continue
				}
				kept[stored.aliases[at].id] = true
				if stored.aliases[at].itemID != itemRow.id {
					w.updates = append(w.updates, dictionaryUpdate{"item_id = ?", []any{itemRow.id}, stored.aliases[at].id})
				}
			}
		}
	}
	for _, alias := range stored.aliases {
		if systems[alias.system] && !kept[alias.id] {
			w.updates = append(w.updates, dictionaryUpdate{id: alias.id})
		}
	}
	return w
}

package registry

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// SeedDictionary brings the stored dictionary to what the program knows and
// tells how many rows it wrote. A database that is up to date is only read, so
// it may be called on every start.
//
// What operators did stays: items they added to a list that allows it, and
// items they switched off. Items the program no longer has are switched off,
// never deleted, because rows may still hold their codes.
func (s *Registry) SeedDictionary(ctx context.Context, types []dictionary.Type) (changed int, err error) {
	read := func(query string) (*sql.Rows, error) { return s.db.Query(ctx, query) }
	stored, err := readDictionary(read)
	if err != nil {
		return 0, kernel.Wrap("read dictionary", s.db.Translate(err))
	}
	current := true
	for _, phase := range seedPhases() {
		current = current && phase(stored, types).countRows() == 0
	}
	if current {
		return 0, nil
	}
	err = s.step(ctx, "seed dictionary", kernel.Bulk, func(t *tx) error {
		changed = 0
		for _, phase := range seedPhases() {
			stored, err := readDictionary(func(query string) (*sql.Rows, error) { return t.Query(query) })
			if err != nil {
				return err
			}
			writes := phase(stored, types)
			changed += writes.countRows()
			if err := t.writeDictionary(writes); err != nil {
				return err
			}
		}
		return nil
	})
	return changed, err
}

// Dictionary reads the lists of codes: lists and aliases by code, items in their
// display order.
func (s *Registry) Dictionary(ctx context.Context) ([]dictionary.Type, error) {
	stored, err := readDictionary(func(query string) (*sql.Rows, error) { return s.db.Query(ctx, query) })
	if err != nil {
		return nil, kernel.Wrap("read dictionary", s.db.Translate(err))
	}
	var out []dictionary.Type
	for _, list := range stored.types {
		t := dictionary.Type{Code: list.code, Name: list.name, Custom: list.custom}
		for _, item := range stored.items {
			if item.typeID == list.id {
				t.Items = append(t.Items, dictionary.Item{
					Code: item.code, Default: item.isDefault, Disabled: !item.enabled, Aliases: stored.aliasesOf(item.id),
				})
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// dictionaryRows is what the dictionary tables hold.
type dictionaryRows struct {
	types   []dictTypeRow
	items   []dictItemRow
	aliases []dictAliasRow
}

type dictTypeRow struct {
	id             int64
	code, name     string
	custom, system bool
}

type dictItemRow struct {
	id, typeID int64
	code, name string
	order      int64
	isDefault  bool
	enabled    bool
	defaultKey sql.NullInt64
	mark       string // record_remarks
}

type dictAliasRow struct {
	id, itemID, typeID int64
	system, code       string
}

// readDictionary sorts in Go: databases sort text by rules of their own.
func readDictionary(query func(string) (*sql.Rows, error)) (out dictionaryRows, err error) {
	rows, err := query("SELECT id, type_code, type_name, allow_custom_items, is_system FROM sys_dict_type")
	if err != nil {
		return out, err
	}
	err = kernel.Each(rows, func() error {
		var r dictTypeRow
		err := rows.Scan(&r.id, &r.code, &r.name, &r.custom, &r.system)
		out.types = append(out.types, r)
		return err
	})
	if err != nil {
		return out, err
	}
	if rows, err = query("SELECT id, type_id, item_code, item_name, display_order, is_default, enabled, default_key, record_remarks FROM sys_dict_item"); err != nil {
		return out, err
	}
	err = kernel.Each(rows, func() error {
		var r dictItemRow
		var mark sql.NullString
		err := rows.Scan(&r.id, &r.typeID, &r.code, &r.name, &r.order, &r.isDefault, &r.enabled, &r.defaultKey, &mark)
		r.mark = mark.String
		out.items = append(out.items, r)
		return err
	})
	if err != nil {
		return out, err
	}
	if rows, err = query("SELECT id, item_id, type_id, source_system, external_code FROM sys_dict_item_alias"); err != nil {
		return out, err
	}
	err = kernel.Each(rows, func() error {
		var r dictAliasRow
		err := rows.Scan(&r.id, &r.itemID, &r.typeID, &r.system, &r.code)
		out.aliases = append(out.aliases, r)
		return err
	})
	slices.SortFunc(out.types, func(a, b dictTypeRow) int { return cmp.Compare(a.code, b.code) })
	slices.SortFunc(out.items, func(a, b dictItemRow) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.code, b.code))
	})
	slices.SortFunc(out.aliases, func(a, b dictAliasRow) int {
		return cmp.Or(cmp.Compare(a.system, b.system), cmp.Compare(a.code, b.code))
	})
	return out, err
}

func (d dictionaryRows) typeOf(code string) (dictTypeRow, bool) {
	i := slices.IndexFunc(d.types, func(r dictTypeRow) bool { return r.code == code })
	if i < 0 {
		return dictTypeRow{}, false
	}
	return d.types[i], true
}

func (d dictionaryRows) itemOf(list int64, code string) (dictItemRow, bool) {
	i := slices.IndexFunc(d.items, func(r dictItemRow) bool { return r.typeID == list && r.code == code })
	if i < 0 {
		return dictItemRow{}, false
	}
	return d.items[i], true
}

func (d dictionaryRows) aliasesOf(item int64) (out []dictionary.Alias) {
	for _, a := range d.aliases {
		if a.itemID == item {
			out = append(out, dictionary.Alias{System: a.system, Code: a.code})
		}
	}
	return out
}

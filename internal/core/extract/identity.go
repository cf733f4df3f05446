package extract

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// identity finds the id of an item. Templates join parts, and a part that is
// missing joins as nothing: items without it would then share an id such as
// "MED:", become one record, and nobody would notice. So such an id is none.
type identity struct {
	valueSlot
	choice bool   // the template itself says what to do without a value
	hollow string // what the template gives when nothing is there
}

var choices = regexp.MustCompile(`\b(?:coalesce|default|if)\s*\(|\?`)

func identityOf(p valueSlot) identity {
	id := identity{valueSlot: p}
	if p.IsTemplate() && p.to > p.from {
		id.choice = choices.MatchString(p.String())
		if computed, err := p.parsed.template.Eval(make([]document.Value, p.to-p.from), nil); err == nil {
			id.hollow, _ = textOf(computed)
		}
	}
	return id
}

func (i identity) findID(values facts) (id, why string, err error) {
	id, isText, err := i.textIn(values)
	if err != nil {
		return "", "", err
	}
	if !isText || id == "" {
		return "", "no id", nil
	}
	if !i.IsTemplate() || i.to == i.from { // a constant, or made of what was asked for
		return id, "", nil
	}
	if !i.choice {
		for n, path := range i.parsed.template.Paths() {
			v := values.found[i.from+n]
			if text, scalar := v.Text(); !v.Present() || v.IsNull() || scalar && text == "" {
				return "", fmt.Sprintf("no id: nothing at %s", path), nil
			}
		}
	}
	if id == i.hollow {
		return "", fmt.Sprintf("no id: without a value only %q remains", id), nil
	}
	return id, "", nil
}

// setID gives the item its id.
func (r *Reader) setID(in *record.Incoming, item entry) *refusal {
	switch {
	case item.Err != nil:
		return refuseItem(record.BadItem, nil, "%v", item.Err)
	case isNullItem(item.Item):
		return refuseItem(record.BadItem, nil, "the item is null; response.skipNull passes over it")
	}
	if item.Key == nil && r.config.ID.readsKey() {
		return refuseItem(record.MissingID, r.config.ID, "no id: the item is no member of an object, so it has no key")
	}
	if r.config.ID.readsUnit() && (item.facts.given == nil || item.facts.given.Unit == "") {
		return refuseItem(record.MissingID, r.config.ID, "no id: the answer is not that of one unit of the filter, so there is no %s", tmpl.UnitName)
	}
	for _, name := range r.config.ID.carriedNames() {
		if value := item.carried[name]; value == nil || value == "" {
			return refuseItem(record.MissingID, r.config.ID, "no id: nothing is carried as %q (response.expand.carry)", name)
		}
	}
	id, why, err := r.item.id.findID(item.facts)
	if r.config.IDCase == "LOWER" {
		id = strings.ToLower(id)
	}
	switch {
	case err != nil:
		return refuseItem(record.MappingFailed, r.config.ID, "id: %v", err)
	case why != "":
		return refuseItem(record.MissingID, r.config.ID, "%s", why)
	case len(id) > record.MaxIDBytes:
		return refuseItem(record.LongID, r.config.ID, "id has %d bytes, at most %d are stored", len(id), record.MaxIDBytes)
	case !utf8.ValidString(id):
		return refuseItem(record.BadID, r.config.ID, "id is not valid UTF-8")
	}
	in.ProviderID = id
	return nil
}

package tmpl

import (
	"strings"
	"time"
)

// Vars are the values a request template may name.
type Vars struct {
	Page    PageVars          `expr:"page"`
	Filter  FilterVars        `expr:"filter"`
	Window  WindowVars        `expr:"window"`
	Contact ContactVars       `expr:"contact"`
	Query   string            `expr:"query"`     // the rendered query text
	Params  map[string]string `expr:"params"`    // by standard key; a key that is not there is empty
	Sector  map[string]string `expr:"partition"` // by the name of the entry of partitions; NAME.FIELD is what its parent carries
	IDs     []string          `expr:"ids"`       // what a detail request asks for
	Now     time.Time         `expr:"now"`       // one instant for a whole slice, read by now()
}

// PageVars describe the page that is asked for.
type PageVars struct {
	Size   int    `expr:"size"`
	Number int    `expr:"number"`
	Offset int    `expr:"offset"`
	Token  string `expr:"token"`
	URL    string `expr:"url"`
}

// FilterVars are the bounds of the slice, written as the endpoint's date filter wants them.
type FilterVars struct {
	From string `expr:"from"`
	To   string `expr:"to"`
	At   string `expr:"at"` // the unit the slice lies in, for filter.bounds: UNIT
}

// WindowVars are the bounds of the slice as instants.
type WindowVars struct {
	From time.Time `expr:"from"`
	To   time.Time `expr:"to"`
}

// NamesWindow reports whether a variable is a bound of the slice.
func NamesWindow(name string) bool {
	first, _, _ := strings.Cut(name, ".")
	return first == "filter" || first == "window"
}

// ContactVars identify the operator to the upstream.
type ContactVars struct {
	Email string `expr:"email"`
}

// Below these every name is known.
const (
	paramPrefix  = "params."
	sectorPrefix = "partition."
	secretPrefix = "secret."
)

// SecretPlace is the value of secret.NAME: not the secret, which no template ever sees, but the place for it.
type SecretPlace struct{}

// SecretNamed returns which credential a variable names; empty if it names none.
func SecretNamed(variable string) string {
	name, found := strings.CutPrefix(variable, secretPrefix)
	if !found {
		return ""
	}
	return name
}

// SectorNamed returns which entry of partitions a variable names, and what of its parent is carried; empty if it names none.
func SectorNamed(variable string) (entry, carried string) {
	name, found := strings.CutPrefix(variable, sectorPrefix)
	if !found {
		return "", ""
	}
	entry, carried, _ = strings.Cut(name, ".")
	return entry, carried
}

// NamesSector reports whether a variable is a value of partitions, or what is carried beside one.
func NamesSector(variable string) bool {
	name, found := strings.CutPrefix(variable, sectorPrefix)
	entry, carried, more := strings.Cut(name, ".")
	return found && entry != "" && more == (carried != "") && !strings.Contains(carried, ".")
}

// requestVariables are the names of Vars with a value of their type.
var requestVariables = map[string]any{
	"page.size": 0, "page.number": 0, "page.offset": 0, "page.token": "", "page.url": "",
	"filter.from": "", "filter.to": "", "filter.at": "",
	"window.from": time.Time{}, "window.to": time.Time{},
	"contact.email": "", "query": "", "ids": []string(nil), nowName: time.Time{},
}

// variableValue is a plain switch so that rendering needs no reflection.
func (v *Vars) variableValue(name string) (any, error) {
	switch name {
	case "page.size":
		return v.Page.Size, nil
	case "page.number":
		return v.Page.Number, nil
	case "page.offset":
		return v.Page.Offset, nil
	case "page.token":
		return v.Page.Token, nil
	case "page.url":
		return v.Page.URL, nil
	case "filter.from":
		return v.Filter.From, nil
	case "filter.to":
		return v.Filter.To, nil
	case "filter.at":
		return v.Filter.At, nil
	case "window.from":
		return v.Window.From, nil
	case "window.to":
		return v.Window.To, nil
	case "contact.email":
		return v.Contact.Email, nil
	case "query":
		return v.Query, nil
	case "ids":
		return v.IDs, nil
	case nowName:
		return v.Now, nil
	}
	if SecretNamed(name) != "" {
		return SecretPlace{}, nil
	}
	if sector, found := strings.CutPrefix(name, sectorPrefix); found {
		return v.Sector[sector], nil
	}
	return v.Params[strings.TrimPrefix(name, paramPrefix)], nil
}

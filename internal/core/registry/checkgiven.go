package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// checkGiven refuses templates of an answer that read what says nothing about the item they are
// used for: an id that is another one tomorrow, a date of change that is that of the request.
func (r *Resolved) checkGiven() (out Problems) {
	c := r.Response
	refuse := func(key, code, message, hint string) {
		out = append(out, r.problemAt(Path{"response", key}, code+": "+message, hint))
	}
	for _, p := range []struct {
		key      string
		selector extract.Selector
		may      []string
	}{
		{"where", c.Where.Selector, nil}, {"id", c.ID, r.givenToIDs()}, {"mergedInto", c.MergedInto, nil}, {"gone", c.Gone.Selector, nil},
		{"updatedAt", c.UpdatedAt, nil}, {"filtered", c.Filtered, nil}, {"version", c.Version, nil},
	} {
		for _, name := range p.selector.Given() {
			if p.key == "id" && tmpl.NamesSector(name) {
				continue // see checkSectorID
			}
			if !slices.Contains(p.may, name) && name != tmpl.KeyName && !strings.HasPrefix(name, tmpl.CarriedPrefix) {
				refuse(p.key, "E-GIVEN", fmt.Sprintf("%s is not of the item", name), "it would say of every item of the answer the same; read it from the item with jsonPath")
			}
		}
	}
	if slices.Contains(c.ID.Given(), "ids") && !r.asksOneID() {
		refuse("id", "E-IDS-SEVERAL", "the id is the one that was asked for, and a request may ask for several", "say details.batchSize: 1 where the endpoint is asked by id, or read the id from the item")
	}
	out = append(out, r.checkSectorID()...)
	if c.ID.IsConstant() && !(c.Single && (r.Role == roleDetail || r.Paging.Type == paging.One)) {
		refuse("id", "E-ID-CONSTANT", fmt.Sprintf("%s is the same for every item, so all of them would be one record", c.ID), "that is right for an answer that is one record: response.single: true, and paging.type: ONE")
	}
	if why, hint := c.CheckReplaces(r.Whole.On() || r.isGiven(Path{"snapshot"})); why != "" {
		refuse("replaces", "E-REPLACES", why, hint)
	}
	for _, name := range c.Headers() {
		if exchange.SecretName(name) || strings.EqualFold(name, "Set-Cookie") {
			refuse("fields", "E-HEADER-SECRET", fmt.Sprintf("header %s may hold a secret, and what templates read is kept", name), "")
		}
	}
	if c.ReadsUnit() && r.Filter.Ends != query.OneUnit {
		refuse("fields", "E-GIVEN", tmpl.UnitName+" is the unit of the filter that was asked for, and requests name none", "it is for filter.bounds: UNIT; window.from is the start of the slice")
	}
	if r.Role != roleDetail {
		return out
	}
	for _, name := range c.ReadsRequest() {
		if tmpl.NamesSector(name) {
			refuse("fields", "E-GIVEN", name+" is nothing for an endpoint that is asked by id", "such a request is for no part of a list")
		}
		if strings.HasPrefix(name, "window.") {
			refuse("fields", "E-GIVEN", name+" is nothing for an endpoint that is asked by id", "such a request has no window")
		}
	}
	return out
}

// givenToIDs lists what an id may read besides its item.
func (r *Resolved) givenToIDs() []string {
	if r.Response.Replaces == extract.ReplacesWindow {
		return []string{"hash", tmpl.UnitName}
	}
	return []string{"ids", "hash"}
}

// asksOneID reports whether a request of the endpoint asks for one id: whoever leads to it says so.
func (r *Resolved) asksOneID() bool {
	if r.Role != roleDetail {
		return false
	}
	if r.origin.StandsAlone(r.Endpoint) {
		return r.Details.BatchSize <= 1
	}
	for name, e := range r.origin.Endpoints {
		if e.Role == roleDetail {
			continue
		}
		for _, op := range r.origin.Operates(name) {
			first, err := Resolve(r.origin, name, op, r.overrides)
			if err == nil && first.Details.Endpoint == r.Endpoint && first.Details.BatchSize != 1 {
				return false
			}
		}
	}
	return true
}

// checkSectorID refuses ids that are made of the part of the list where that would lose records: several items of one part
// would be one record, and a record that is asked for by its id would be another one.
func (r *Resolved) checkSectorID() (out Problems) {
	id := r.Response.ID
	if !slices.ContainsFunc(id.Given(), tmpl.NamesSector) {
		return nil
	}
	refuse := func(code, message, hint string) {
		out = append(out, r.problemAt(Path{"response", "id"}, code+": "+message, hint))
	}
	if !id.ReadsItem() && !(r.Response.Single && r.Paging.Type == paging.One) {
		refuse("E-ID-CONSTANT", fmt.Sprintf("%s is the same for every item of a part, so all of them would be one record", id), "add what tells them apart, such as ${partition.repo}/${jsonPath('$.number')}")
	}
	if r.Details.Enabled() {
		refuse("E-GIVEN", "an endpoint that is asked by id (details) does not know which part of the list a record came with", "take the id from the item")
	}
	return out
}

package exchange

import (
	"maps"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

func crossref() Parts {
	return Parts{
		HTTP: Config{BaseURL: "https://api.example.org", Headers: map[string]string{"Accept": "application/json"}},
		Request: RequestConfig{
			Path: "/works", Neutral: []string{"sort"},
			Query: map[string]Texts{
				"rows": {"${page.size}"}, "cursor": {"${page.token}"}, "sort": {"indexed"}, "order": {"asc"}, "mailto": {"${contact.email}"},
				"filter": {"from-index-date:${filter.from},until-index-date:${filter.to}"},
				"mixed":  {"${query}${contact.email}${now()}${first(ids)}${page.token}"},
			},
		},
		Params: map[string]Param{"query": {Name: "query.title"}, "type": {Name: "type", Default: "article"}, "max": {Name: "max", Default: "${page.size}"}},
	}
}

func reference() tmpl.Vars {
	return tmpl.Vars{
		Filter: tmpl.FilterVars{From: "2001-02-03", To: "2001-02-03"}, Query: "owl", Params: map[string]string{"other": "x"},
		Window: tmpl.WindowVars{From: time.Date(2001, 2, 3, 0, 0, 0, 0, time.UTC), To: time.Date(2001, 2, 4, 0, 0, 0, 0, time.UTC)},
	}
}

func selected(t testing.TB, p Parts, vars tmpl.Vars) string {
	t.Helper()
	r := compiled(t, p)
	got, err := r.Selection(vars)
	if err != nil || len(got) != 64 {
		t.Fatalf("%q %v", got, err)
	}
	return got
}

func TestSelection(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Parts, *tmpl.Vars)
		same   bool
	}{
		"nothing": {func(*Parts, *tmpl.Vars) {}, true},
		"page": {func(_ *Parts, v *tmpl.Vars) {
			v.Page = tmpl.PageVars{Size: 9, Number: 2, Offset: 3, Token: "t", URL: "u"}
		}, true},
		"contact":         {func(_ *Parts, v *tmpl.Vars) { v.Contact.Email = "me@example.org" }, true},
		"now":             {func(_ *Parts, v *tmpl.Vars) { v.Now = time.Unix(1e9, 0) }, true},
		"ids":             {func(_ *Parts, v *tmpl.Vars) { v.IDs = []string{"7"} }, true},
		"unused param":    {func(_ *Parts, v *tmpl.Vars) { v.Params = nil }, true},
		"base URL":        {func(p *Parts, _ *tmpl.Vars) { p.HTTP.BaseURL = "https://mirror.example.org/v2" }, true},
		"headers":         {func(p *Parts, _ *tmpl.Vars) { p.HTTP.Headers = nil; p.Request.Headers = map[string]string{"X": "y"} }, true},
		"neutral":         {func(p *Parts, _ *tmpl.Vars) { p.Request.Query["sort"] = Texts{"score"} }, true},
		"neutral dropped": {func(p *Parts, _ *tmpl.Vars) { delete(p.Request.Query, "sort"); p.Request.Neutral = nil }, true},
		"paging params": {func(p *Parts, _ *tmpl.Vars) {
			p.Request.Query["rows"] = Texts{"${page.size + 1}"}
			p.Request.Query["n"] = Texts{"${page.number}"}
		}, true},
		"no mailto":       {func(p *Parts, _ *tmpl.Vars) { delete(p.Request.Query, "mailto") }, true},
		"timeout":         {func(p *Parts, _ *tmpl.Vars) { p.HTTP = p.HTTP.WithDefaults() }, true},
		"spelt otherwise": {func(p *Parts, _ *tmpl.Vars) { p.Request.Query["order"] = Texts{"${lower('ASC')}"} }, true},
		"method written":  {func(p *Parts, _ *tmpl.Vars) { p.Request.Method = "GET" }, true},

		"path":         {func(p *Parts, _ *tmpl.Vars) { p.Request.Path = "/members" }, false},
		"constant":     {func(p *Parts, _ *tmpl.Vars) { p.Request.Query["order"] = Texts{"desc"} }, false},
		"new constant": {func(p *Parts, _ *tmpl.Vars) { p.Request.Query["type"+"s"] = Texts{"book"} }, false},
		"filter": {func(p *Parts, _ *tmpl.Vars) {
			p.Request.Query["filter"] = Texts{"from-pub-date:${filter.from},until-pub-date:${filter.to}"}
		}, false},
		"filter and more":          {func(p *Parts, _ *tmpl.Vars) { p.Request.Query["filter"][0] += ",has-abstract:1" }, false},
		"no filter":                {func(p *Parts, _ *tmpl.Vars) { delete(p.Request.Query, "filter") }, false},
		"filter text":              {func(_ *Parts, v *tmpl.Vars) { v.Filter.From = "2001-02-02" }, false},
		"query text":               {func(_ *Parts, v *tmpl.Vars) { v.Query = "mouse" }, false},
		"emitted param":            {func(_ *Parts, v *tmpl.Vars) { v.Params = map[string]string{"type": "book"} }, false},
		"emitted over a page size": {func(_ *Parts, v *tmpl.Vars) { v.Params = map[string]string{"max": "7"} }, false},
		"default":                  {func(p *Parts, _ *tmpl.Vars) { p.Params["type"] = Param{Name: "type", Default: "book"} }, false},
		"param name":               {func(p *Parts, _ *tmpl.Vars) { p.Params["query"] = Param{Name: "query"} }, false},
		"not neutral":              {func(p *Parts, _ *tmpl.Vars) { p.Request.Neutral = nil }, false},
		"method":                   {func(p *Parts, _ *tmpl.Vars) { p.Request.Method = "POST" }, false},
		"form":                     {func(p *Parts, _ *tmpl.Vars) { p.Request.Method = "POST"; p.Request.Form = map[string]Texts{"a": {"b"}} }, false},
		"mixed with page":          {func(p *Parts, _ *tmpl.Vars) { p.Request.Query["rows"] = Texts{"${page.size}${filter.from}"} }, false},
	} {
		parts, vars := crossref(), reference()
		before := selected(t, parts, vars)
		c.change(&parts, &vars)
		if after := selected(t, parts, vars); (after == before) != c.same {
			t.Errorf("%s: same = %v", name, after == before)
		}
	}
}

func TestSelectionOfBodies(t *testing.T) {
	parts := func(body string) Parts {
		return Parts{Request: RequestConfig{Method: "POST", Path: "/", Body: body}}
	}
	vars := reference()
	one := selected(t, parts(`{"q":"${query}","size":${page.size}}`), vars)
	vars.Page.Size = 77
	if two := selected(t, parts(`{"q":"${query}","size":${page.size}}`), vars); one != two {
		t.Error("the page size changed what is selected")
	}
	vars.Query = "mouse"
	if two := selected(t, parts(`{"q":"${query}","size":${page.size}}`), vars); one == two {
		t.Error("another query selects the same")
	}
}

func TestSelectionNeedsWhatTheRequestNeeds(t *testing.T) {
	parts := crossref()
	parts.Params["query"] = Param{Name: "q", Required: true}
	vars := reference()
	vars.Query = ""
	if _, err := compiled(t, parts).Selection(vars); err == nil || !strings.Contains(err.Error(), "params.query") {
		t.Error(err)
	}
}

// Two requests that differ in one constant never share a selection, and the
// same request always has the same one.
func TestSelectionSeparatesConstants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"order", "kind", "a b", "&"})
		value := rapid.StringN(0, 5, -1)
		draw := func(label string) map[string]string {
			return rapid.MapOfN(name, value, 0, 3).Draw(t, label)
		}
		one, two := draw("one"), draw("two")
		of := func(query map[string]string) string {
			sent := map[string]Texts{}
			for key, text := range query {
				query[key] = strings.ReplaceAll(text, "${", "")
				sent[key] = Texts{query[key]}
			}
			r, err := NewRenderer(Config{BaseURL: "https://h"}, RequestConfig{Path: "/", Query: sent})
			if err != nil {
				t.Fatal(err)
			}
			selection, err := r.Selection(tmpl.Vars{})
			if err != nil {
				t.Fatal(err)
			}
			return selection
		}
		if (of(one) == of(two)) != maps.Equal(one, two) {
			t.Fatalf("%q and %q", one, two)
		}
	})
}

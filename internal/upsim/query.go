package upsim

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	defaultRows = 20
	maxRows     = 1000
	maxOffset   = 10000

	anyTimeFrom = int64(math.MinInt64)
	anyTimeTo   = int64(math.MaxInt64)
)

// listQuery is a checked GET /works request.
type listQuery struct {
	rows, offset int
	cursor       string // "" | "*" | the text of an earlier answer
	first, last  int64  // unix seconds, both included
	order        ordering
	terms        string
}

// refusal is one complaint in a validation-failure answer.
type refusal struct{ kind, value, message string }

func (r *refusal) Error() string { return r.kind + " " + r.value + ": " + r.message }

func parseList(values url.Values) (listQuery, error) {
	q := listQuery{rows: defaultRows, first: anyTimeFrom, last: anyTimeTo, cursor: values.Get("cursor"), terms: values.Get("query")}
	if err := checkNames(values); err != nil {
		return q, err
	}
	var err error
	if q.rows, err = parseCount(values, "rows", defaultRows, maxRows); err != nil {
		return q, err
	}
	if q.offset, err = parseCount(values, "offset", 0, maxOffset); err != nil {
		return q, err
	}
	if q.offset > 0 && q.cursor != "" {
		return q, &refusal{"parameter-conflict", "offset", "offset and cursor cannot be used together."}
	}
	if q.order, err = parseOrder(values.Get("sort"), values.Get("order")); err != nil {
		return q, err
	}
	return q, q.parseFilter(values.Get("filter"))
}

// checkNames refuses what the simulator would otherwise ignore: a misspelled
// parameter must not look like a request for everything.
func checkNames(values url.Values) error {
	known := []string{"rows", "offset", "cursor", "filter", "sort", "order", "mailto", "select", "facet", "query"}
	for name, given := range values {
		if !slices.Contains(known, name) && !strings.HasPrefix(name, "query.") {
			return &refusal{"parameter-not-allowed", name, "This route does not support the parameter " + name + "."}
		}
		if len(given) > 1 {
			return &refusal{"parameter-repeated", name, "The parameter " + name + " is given more than once."}
		}
	}
	return nil
}

func parseCount(values url.Values, name string, unset, most int) (int, error) {
	if !values.Has(name) {
		return unset, nil
	}
	text := values.Get(name)
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, &refusal{"integer-not-valid", text, fmt.Sprintf("%s is %s but must be a whole number from 0 to %d.", name, text, most)}
	}
	return n, nil
}

func parseOrder(sort, order string) (ordering, error) {
	switch order {
	case "", "asc", "desc":
	default:
		return byScore, &refusal{"order-not-valid", order, "The order must be asc or desc."}
	}
	switch sort {
	case "", "score":
		return byScore, nil
	case "indexed":
		if order == "asc" {
			return byIndexedAsc, nil
		}
		return byIndexedDesc, nil
	}
	return byScore, &refusal{"sort-not-valid", sort, "The simulator sorts by indexed or score only."}
}

func (q *listQuery) parseFilter(text string) error {
	if text == "" {
		return nil
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, ":")
		if seen[name] {
			return &refusal{"filter-repeated", name, "The filter " + name + " is given more than once."}
		}
		seen[name] = true
		if name != "from-index-date" && name != "until-index-date" {
			return &refusal{"filter-not-available", name, "There is no filter " + name + " for this route. Valid filters for this route are: from-index-date, until-index-date"}
		}
		first, last, err := parseSpan(value)
		if err != nil {
			return &refusal{"date-not-valid", value, name + " must be YYYY, YYYY-MM or YYYY-MM-DD, or a day with T and HH, HH:MM or HH:MM:SS."}
		}
		if name == "from-index-date" {
			q.first = first
		} else {
			q.last = last
		}
	}
	return nil
}

// parseSpan gives the first and the last second a date stands for: a date
// names all of what it leaves open, down to one second. All of it is UTC, and
// a zone is not part of the form.
func parseSpan(text string) (first, last int64, err error) {
	layouts := [...]struct {
		layout string
		next   func(time.Time) time.Time
	}{
		{"2006-01-02T15:04:05", func(t time.Time) time.Time { return t.Add(time.Second) }},
		{"2006-01-02T15:04", func(t time.Time) time.Time { return t.Add(time.Minute) }},
		{"2006-01-02T15", func(t time.Time) time.Time { return t.Add(time.Hour) }},
		{"2006-01-02", func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }},
		{"2006-01", func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }},
		{"2006", func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }},
	}
	for _, l := range layouts {
		var t time.Time
		if t, err = time.Parse(l.layout, text); err == nil && t.Format(l.layout) == text { // without a fraction
			return t.Unix(), l.next(t).Unix() - 1, nil
		}
	}
	return 0, 0, fmt.Errorf("%q is no date of a known form", text)
}

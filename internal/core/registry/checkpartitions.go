package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// checkPartitions refuses parts of a list that would all get the same answer, because the request does not name them, and
// names in a request that stand for no part. Either would let a window count as read for parts nobody asked for (I2).
func (r *Resolved) checkPartitions() Problems {
	var out Problems
	refuse := func(path Path, message, hint string) { out = append(out, r.problemAt(path, message, hint)) }
	sent := map[string]bool{} // entries that reach the request, by their value or by what is carried beside it
	for name := range r.readVariables() {
		entry, _ := tmpl.SectorNamed(name)
		sent[entry] = true
	}
	check := func(path Path, name string) {
		entry, carried := tmpl.SectorNamed(name)
		if entry == "" {
			return
		}
		c, known := r.Partitions[entry]
		if !known {
			refuse(path, fmt.Sprintf("E-PARTITION: ${%s} names no entry of partitions", name), r.declaredPartitions(entry))
			return
		}
		if carried == "" {
			return
		}
		if c.From == nil {
			refuse(path, fmt.Sprintf("E-PARTITION: ${%s} names what a record carries, and the values of %s are listed", name, entry), fmt.Sprintf("write ${partition.%s}", entry))
		} else if _, carries := c.From.Carry[carried]; !carries {
			refuse(path, fmt.Sprintf("E-PARTITION: ${%s} names nothing that partitions.%s.from carries", name, entry), fmt.Sprintf("add it: carry: {%s: $.%s}", carried, carried))
		}
	}
	for _, t := range r.listTemplates() {
		for _, name := range t.names {
			check(t.path, name)
		}
	}
	if r.Role != roleDetail { // which has none: see checkGiven
		for _, name := range r.Response.ReadsRequest() {
			check(Path{"response"}, name)
		}
	}
	if len(r.Partitions) == 0 {
		return out
	}
	at := Path{"partitions"}
	if r.Role == roleDetail {
		refuse(at, "E-PARTITION: a DETAIL endpoint is asked by id, and has no list with parts", "let partitions stand below the endpoint that is searched")
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(r.Partitions)) {
		entry := append(at[:1:1], name)
		if strings.Trim(name, sector.NameLetters) != "" || len(name) > 32 {
			refuse(entry, fmt.Sprintf("E-NAME: %q is no name for templates", name), "use up to 32 letters, digits and _")
			continue
		}
		if err := r.Partitions[name].Validate(); err != nil {
			what, message, _ := strings.Cut(err.Error(), ": ")
			refuse(append(entry, strings.Split(what, ".")...), message, "")
		}
		if !sent[name] {
			refuse(entry, fmt.Sprintf("E-PARTITION-UNSENT: ${partition.%s} never reaches the request, so every part would get the same answer", name),
				fmt.Sprintf("send ${partition.%s} in request.path, request.query or the body", name))
		}
	}
	out = append(out, r.checkRefused()...)
	out = append(out, r.checkParents()...)
	if sector.Count(r.Partitions) > sector.Most {
		refuse(at, fmt.Sprintf("E-PARTITION: more than %d parts", sector.Most), "each of them is asked for in every window; use fewer values")
	}
	return out
}

// declaredPartitions says which entries a template could have meant.
func (r *Resolved) declaredPartitions(name string) string {
	if len(r.Partitions) == 0 {
		return fmt.Sprintf("declare it: partitions: {%s: {values: […]}}", name)
	}
	return hintFor(name, slices.Sorted(maps.Keys(r.Partitions)), "partitions")
}

// checkRefused refuses statuses of parts that are refused where they would mean something else too, and where a list cannot be
// read without one of its parts.
func (r *Resolved) checkRefused() (out Problems) {
	first := ""
	for _, name := range slices.Sorted(maps.Keys(r.Partitions)) {
		said := r.Partitions[name].RefusedStatus
		if len(said) == 0 {
			continue
		}
		refuse := func(message, hint string) {
			out = append(out, r.problemAt(Path{"partitions", name, "refusedStatus"}, "E-PARTITION: "+message, hint))
		}
		if first != "" {
			refuse(fmt.Sprintf("%s says it too, and an answer is for one value of each entry", first), "write it below one of them")
		}
		first = name
		for _, list := range []struct {
			key      string
			statuses []int
		}{{"retry.retryStatus", r.Retry.RetryStatus}, {"response.emptyStatus", r.Response.EmptyStatus}} {
			for _, status := range said {
				if slices.Contains(list.statuses, status) {
					refuse(fmt.Sprintf("%d is also in %s", status, list.key), "a status has one meaning")
				}
			}
		}
		if r.Operation == opHarvest && r.Filter.Ends == query.NoEnds && r.isGiven(Path{"snapshot"}) {
			refuse("a list without dates (snapshot) is read for all of its parts or not at all", "leave refusedStatus out")
		}
	}
	return out
}

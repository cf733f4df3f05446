package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/sector"
)

// FindSource returns a source by its code, as it is now; nil if there is none.
type FindSource func(code string) (*Source, error)

// ForeignParents lists from which other sources the values of partitions come, in the order of their codes.
func (s *Source) ForeignParents() (out []string) {
	add := func(sections Sections, operations map[string]Sections) {
		for _, one := range slices.AppendSeq([]Sections{sections}, maps.Values(operations)) {
			for _, c := range one.Partitions {
				if c.From != nil && c.From.Source != "" {
					out = append(out, c.From.Source)
				}
			}
		}
	}
	add(s.Sections, s.Operations)
	for _, e := range s.Endpoints {
		add(e.Sections, e.Operations)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ForeignProblems finds what is wrong with values that come from records of other sources: only who knows those can tell.
func (s *Source) ForeignProblems(find FindSource) (out Problems, err error) {
	for _, name := range slices.Sorted(maps.Keys(s.Endpoints)) {
		for _, op := range s.Operates(name) {
			r, err := Resolve(s, name, op, nil)
			if err != nil {
				continue // told where the source is checked
			}
			entry, from := sector.Parent(r.Partitions)
			if from == nil || from.Source == "" {
				continue
			}
			refused, err := s.refuseForeign(name, from, find)
			if err != nil {
				return nil, err
			}
			if refused == nil {
				continue
			}
			one := r.problemAt(Path{"partitions", entry, "from", refused.key}, "E-PARTITION: "+refused.message, refused.hint)
			if !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
	}
	return out, nil
}

// ForeignParent returns the endpoint of another source whose records are the parts of an endpoint, as it is harvested. The
// error says why they cannot be, and what to do.
func (s *Source) ForeignParent(endpoint string, from *sector.From, find FindSource) (*Resolved, error) {
	refused, err := s.refuseForeign(endpoint, from, find)
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, &ParentError{fmt.Sprintf("E-PARTITION: the parts of %s/%s are records of %s, and %s; %s", s.Code, endpoint, from, refused.message, refused.hint)}
	}
	parent, err := find(from.Source)
	if err != nil {
		return nil, err
	}
	return Resolve(parent, from.Endpoint, opHarvest, nil)
}

// ParentError says why records of another source cannot be the parts of a list, and what to do.
type ParentError struct{ text string }

func (e *ParentError) Error() string { return e.text }

// foreignRefusal is what is wrong with a parent of another source.
type foreignRefusal struct{ key, message, hint string }

func (s *Source) refuseForeign(endpoint string, from *sector.From, find FindSource) (*foreignRefusal, error) {
	parent, err := find(from.Source)
	if err != nil {
		return nil, err
	}
	if parent == nil {
		return &foreignRefusal{"source", fmt.Sprintf("there is no source %s", from.Source), "apply it first; `patra source list` shows which there are"}, nil
	}
	if message, hint := parent.refuseParent(from.Endpoint, from.Changed); message != "" {
		return &foreignRefusal{"endpoint", "of source " + from.Source + ": " + message, hint}, nil
	}
	chain, err := s.foreignChain(endpoint, from, find)
	if err != nil || chain == "" {
		return nil, err
	}
	return &foreignRefusal{"source", "the records would depend on themselves: " + chain, "name records that can be read first"}, nil
}

// foreignChain returns how parents of other sources lead back to the endpoint, or to one of them; empty if they do not.
func (s *Source) foreignChain(endpoint string, from *sector.From, find FindSource) (string, error) {
	at := s
	seen := []string{s.Code + "/" + endpoint}
	for from != nil {
		if from.Source != "" {
			next, err := find(from.Source)
			if from.Source == s.Code { // as it is about to be, not as it is applied
				next, err = s, nil
			}
			if err != nil || next == nil {
				return "", err // told where that one is checked
			}
			at = next
		}
		one := at.Code + "/" + from.Endpoint
		again := slices.Contains(seen, one)
		if seen = append(seen, one); again {
			return strings.Join(seen, " → "), nil
		}
		r, err := Resolve(at, from.Endpoint, opHarvest, nil)
		if err != nil {
			return "", nil //nolint:nilerr // told where that one is checked
		}
		_, from = sector.Parent(r.Partitions)
	}
	return "", nil
}

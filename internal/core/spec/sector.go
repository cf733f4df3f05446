package spec

import (
	"fmt"
	"maps"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/sector"
)

// Sectors returns the parts of the list that are asked for one by one; none where all of it is asked for at once.
func (s Snapshot) Sectors() []sector.Sector { return sector.List(s.Partitions) }

// NarrowsSectors reports whether a window may be read for a few sectors only, because the others have been read there. A list
// without dates is read for all of them or not at all: a few are no reading of it (decision 154).
func (s Snapshot) NarrowsSectors() bool { return len(s.Partitions) > 0 && !s.ReadsWhole() }

// Only returns the snapshot that asks for one part of the list, by its name, to try it. It is not one to plan with: what it
// reads says nothing of the other parts.
func (s Snapshot) Only(name string) (Snapshot, error) {
	chosen, err := sector.Find(s.Partitions, name)
	if err != nil {
		return s, err
	}
	of := s.Partitions
	s.Partitions = maps.Clone(s.Partitions)
	for entry, value := range chosen.Values {
		s.Partitions[entry] = sector.Config{Values: []string{value}}
	}
	if s.Parent != nil { // nothing stored is read to try it, so the id stands for all that the record would say
		entry, from := sector.Parent(of)
		s.Parent, s.carried = nil, nil
		for field := range from.Carry {
			s.carried = append(s.carried, entry+"."+field)
		}
	}
	return s, nil
}

// Sector returns the name of the part of the list that the program asks for; empty: all of it.
func (p *Program) Sector() string { return p.sector.Name }

// In returns the program that asks for one sector, by the values that its slice names. A source with partitions is never
// asked without one: the first would be read and all would count (I2).
func (p *Program) In(values map[string]string) (*Program, error) {
	if len(p.Partitions) == 0 && len(values) == 0 {
		return p, nil
	}
	for name := range p.Partitions {
		if values[name] == "" {
			return nil, fmt.Errorf("the slice names no value of the partition %q, which the request sends", name)
		}
	}
	if len(values) != len(p.Partitions) {
		return nil, fmt.Errorf("the slice is for the partition %s, and the source has %d entries of partitions", sector.NameOf(values), len(p.Partitions))
	}
	in := *p
	in.sector = sector.Sector{Name: sector.NameOf(values), Values: values}
	return &in, nil
}

// placeOfSector fills the place of a sector in a request of which only the rest matters. A source that is asked for other
// sectors asks another question: what was read before says nothing of a new one.
func placeOfSector(of map[string]sector.Config) map[string]string {
	out := make(map[string]string, len(of))
	for name, c := range of {
		if c.From != nil { // which records there are is no part of the question: a new one is read from its beginning
			out[name] = fingerprint.Key("from", c.From.String(), c.From.Value.String())
			for field, selector := range c.From.Carry {
				out[name+"."+field] = fingerprint.Key("from", c.From.String(), selector.String())
			}
			continue
		}
		sorted := slices.Sorted(slices.Values(c.Groups())) // a part that lags is known by its group
		out[name] = fingerprint.Key(sorted...)
	}
	return out
}

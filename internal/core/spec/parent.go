package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/sector"
)

// Parent is the endpoint whose stored records are the parts of a list, as it was when the plan was made.
type Parent struct {
	Source    string           `json:"source"`
	Endpoint  string           `json:"endpoint"`
	Namespace ingest.Namespace `json:"namespace"` // of its harvest: beyond that watermark nobody knows all parents
	// Reading is how the value, what is carried and since when are read from a stored item: as its id, its fields and its date.
	Reading extract.Config `json:"reading"`
}

// String names the endpoint with its source.
func (p Parent) String() string { return p.Source + "/" + p.Endpoint }

// Dataset returns where the parents are stored.
func (p Parent) Dataset() ingest.Dataset {
	return ingest.Dataset{Source: p.Source, Endpoint: p.Endpoint}
}

// ParentEntry returns which entry of partitions takes its values from stored records; empty: none does.
func (s Snapshot) ParentEntry() string {
	name, _ := sector.Parent(s.Partitions)
	return name
}

// AsksChanged reports whether a harvest leaves out parents that did not change, because the upstream promises that they would.
func (s Snapshot) AsksChanged() bool {
	_, from := sector.Parent(s.Partitions)
	return from != nil && from.Changed && s.Operation == ingest.Harvest && !s.ReadsWhole()
}

// freezeParent adds the endpoint whose records are the parts of the list.
func (s *Snapshot) freezeParent(r *registry.Resolved) error {
	_, from := sector.Parent(s.Partitions)
	if from == nil {
		return nil
	}
	if from.Source != "" {
		s.Parent = &Parent{Source: from.Source, Endpoint: from.Endpoint}
		return nil
	}
	found, err := r.Parent()
	if err != nil {
		return err
	}
	s.Parent, err = s.freezeParentAs(found)
	return err
}

// freezeParentAs returns the parent as it is harvested.
func (s Snapshot) freezeParentAs(found *registry.Resolved) (*Parent, error) {
	_, from := sector.Parent(s.Partitions)
	parent, err := Compile(found)
	if err != nil {
		return nil, fmt.Errorf("endpoint %s, whose records are the parts of %s: %w", from, s.Endpoint, err)
	}
	out := &Parent{Source: parent.Snapshot.Source, Endpoint: parent.Snapshot.Endpoint, Reading: readingOf(parent.Snapshot.Reading(), from)}
	out.Namespace, err = parent.Namespace()
	return out, err
}

// TakesForeignRecords reports whether the parts of the list are stored records of another source: what requests send of them
// leaves this machine for a host that did not send it.
func (s Snapshot) TakesForeignRecords() bool { return s.Parent != nil && s.Parent.Source != s.Source }

// LacksParent reports whether nobody looked yet how the other source has the records that are the parts of the list. Such a
// snapshot shows a file; it cannot be planned.
func (s Snapshot) LacksParent() bool {
	return s.Parent != nil && s.Parent.Namespace == ingest.Namespace{}
}

// WithParent returns the snapshot with the parent of another source as it is harvested now.
func (c *Compiled) WithParent(found *registry.Resolved) (*Compiled, error) {
	s, err := c.Snapshot, error(nil)
	if s.Parent, err = s.freezeParentAs(found); err != nil {
		return nil, err
	}
	out, err := s.Compiled()
	if err != nil {
		return nil, err
	}
	out.Foreign, out.Alerts = c.Foreign, c.Alerts
	return out, nil
}

// readingOf returns how stored items of the parent become parts: with the zone and the shapes of dates of its own mapping,
// and nothing else of it.
func readingOf(own extract.Config, from *sector.From) extract.Config {
	return extract.Config{
		Format: own.Format, Items: own.Items, Zone: own.Zone, DateFormats: own.DateFormats, IDCase: "KEEP",
		ID: from.Value, Fields: from.Carry, UpdatedAt: from.Since, MaxRejectRate: 1,
	}.WithDefaults()
}

// compileParent makes what reads stored parents.
func (p *Program) compileParent() (err error) {
	if p.Parent == nil || p.LacksParent() {
		return nil
	}
	if p.parent, err = extract.Compile(p.Parent.Reading); err != nil {
		return err
	}
	undated := p.Parent.Reading
	undated.UpdatedAt = extract.Selector{}
	p.undated, err = extract.Compile(undated)
	return err
}

// withCarried adds places for what parents carry to the values of a sector that stands for all.
func (s Snapshot) withCarried(values map[string]string) map[string]string {
	out := maps.Clone(values)
	if name, from := sector.Parent(s.Partitions); from != nil {
		for field := range from.Carry {
			out[name+"."+field] = values[name]
		}
	}
	for _, place := range s.carried {
		name, _, _ := strings.Cut(place, ".")
		out[place] = values[name]
	}
	return out
}

// AllSectors returns the parts of the list that every window is read for, parents in so many runs.
func (s Snapshot) AllSectors(runs int) sector.All {
	if s.Parent == nil {
		return sector.All{List: s.Sectors()}
	}
	return sector.All{List: sector.ListRuns(s.Partitions, runs), Of: s.Partitions}
}

// Meant returns which parents a slice asks for, by the values it names; nil: the parts of the list are no parents.
func (p *Program) Meant() (*sector.Meant, error) {
	name, from := sector.Parent(p.Partitions)
	if from == nil {
		return nil, nil
	}
	m, err := sector.ParseParent(p.sector.Values[name])
	if err != nil {
		return nil, fmt.Errorf("the slice is for %s: %w", p.sector.Name, err)
	}
	return &m, nil
}

// AskedParent is one stored parent as requests name it.
type AskedParent struct {
	Name   string            // of its part of the list
	Values map[string]string // for templates
	Since  time.Time         // since when it may have items; zero: nobody knows
}

// ReadParent returns what is asked for of a stored parent, for a program that was made for its run or for itself (In). The error
// says what its item lacks.
func (p *Program) ReadParent(id string, item []byte) (AskedParent, error) {
	entry, from := sector.Parent(p.Partitions)
	values := maps.Clone(p.sector.Values)
	values[entry] = sector.ParentValue(id)
	for field := range from.Carry {
		delete(values, entry+"."+field)
	}
	out := AskedParent{Name: sector.NameOf(values), Values: values}
	if p.parent == nil {
		return out, fault.Newf(fault.Internal, "it was not determined how %s/%s stores its records", p.Parent.Source, p.Parent.Endpoint)
	}
	in, reject, err := p.parent.Item(item, extract.Asked{})
	if err == nil && reject != nil && reject.Reason == record.BadUpdatedAt { // then nobody knows since when
		in, reject, err = p.undated.Item(item, extract.Asked{})
	}
	if err != nil {
		return out, fault.New(fault.Render, err)
	}
	if reject != nil {
		return out, fault.Newf(fault.Render, "partitions.%s.from: %s %s", entry, reject.Path, reject.Detail)
	}
	values[entry] = in.ProviderID
	fields := map[string]any{}
	if len(in.Fields) > 0 {
		if err := json.Unmarshal(in.Fields, &fields); err != nil {
			return out, fault.New(fault.Render, err)
		}
	}
	for field, selector := range from.Carry {
		text, ok := carriedText(fields[field])
		if !ok {
			return out, fault.Newf(fault.Render, "partitions.%s.from.carry.%s: nothing stands at %s, or no single value", entry, field, selector)
		}
		values[entry+"."+field] = text
	}
	out.Since = in.UpdatedAt
	return out, nil
}

// carriedText returns a carried value as templates take it.
func carriedText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, v != ""
	case float64, bool:
		text, err := json.Marshal(v)
		return string(text), err == nil
	}
	return "", false
}

// InParent returns the program that asks for one parent.
func (p *Program) InParent(of AskedParent) *Program {
	in := *p
	in.sector = sector.Sector{Name: of.Name, Values: of.Values}
	return &in
}

package registry

import (
	"cmp"
	"reflect"
	"slices"
	"sync"
)

// Level is where a value may be declared, weakest first (D§5.18).
type Level int

// The levels. A file writes four of them: provenance at its top; endpoint and
// section at an endpoint, see levelAt; operation below operations. The platform's
// are what the sections' WithDefaults fill in.
const (
	LevelPlatform Level = iota
	LevelProvenance
	LevelEndpoint
	LevelSection
	LevelOperation
	LevelOverride
)

func (l Level) String() string {
	return [...]string{"platform", "provenance", "endpoint", "section", "operation", "override"}[l]
}

// Layer is what one level says, with paths that start at a section.
type Layer struct {
	Level  Level
	Leaves []Leaf
}

// Merged is the outcome of a merge: one winner per path.
type Merged struct {
	leaves leafSet
	list   []Leaf // the same, by path
}

// Merge lays layers over one another field by field: the stronger level wins,
// within a level the later layer. Maps merge key by key, lists are replaced.
func Merge(layers ...Layer) Merged {
	layers = slices.Clone(layers)
	slices.SortStableFunc(layers, func(a, b Layer) int { return cmp.Compare(a.Level, b.Level) })
	size := 0
	for _, layer := range layers {
		size += len(layer.Leaves)
	}
	out := Merged{leaves: make(leafSet, size)}
	for _, layer := range layers {
		for _, l := range layer.Leaves {
			l.Level = layer.Level
			out.leaves.addLeaf(l)
		}
	}
	out.list = out.leaves.sortLeaves()
	return out
}

// Leaves lists the winners by path.
func (m Merged) Leaves() []Leaf { return slices.Clone(m.list) }

// Sections gives the merged values their types. Sections that no level mentions
// are nil.
func (m Merged) Sections() Sections {
	var out Sections
	assembleValue(sectionsShape(), reflect.ValueOf(&out).Elem(), m.list, 0)
	return out
}

// Origin says which level decided and where, for example
// "section (crossref.yaml:14:9)", or "" if no layer holds the path.
func (m Merged) Origin(path string) string {
	if l, ok := m.leaves[path]; ok {
		return l.originText()
	}
	return ""
}

func (l Leaf) originText() string {
	if l.At.File == "" || l.Level == LevelOverride {
		return l.Level.String()
	}
	return l.Level.String() + " (" + l.At.String() + ")"
}

var sectionsShape = sync.OnceValue(func() *shape { return shapeOf(reflect.TypeFor[Sections](), nil) })

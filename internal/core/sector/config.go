package sector

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Config is one entry of the `partitions` section of a source: its key is the name that templates use.
type Config struct {
	Values []string `json:"values,omitempty" doc:"what the list is asked for one by one; each request sends one of them as ${partition.NAME}"`
}

// Most is how many sectors a source may have: all of them stand in its snapshot.
const Most = 10_000

// Longest is how many bytes the name of a sector may have.
const Longest = 256

// Sector is one part of a list: a value of every entry of `partitions`.
type Sector struct {
	Name   string            // such as set=cs; several entries by their names, with commas between them
	Values map[string]string // by the name of the entry
}

// List returns all sectors: every combination of values, in the order of the file, names in alphabetical order. A source
// without partitions has none.
func List(of map[string]Config) []Sector {
	if len(of) == 0 {
		return nil
	}
	values := []map[string]string{{}}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		var next []map[string]string
		for _, known := range values {
			for _, v := range of[name].Values {
				one := maps.Clone(known)
				one[name] = v
				next = append(next, one)
			}
		}
		values = next
	}
	out := make([]Sector, len(values))
	for i, v := range values {
		out[i] = Sector{NameOf(v), v}
	}
	return out
}

// Count returns how many sectors there are, without listing them; more than Most is Most+1.
func Count(of map[string]Config) int {
	if len(of) == 0 {
		return 0
	}
	n := 1
	for _, c := range of {
		if n *= len(c.Values); n > Most {
			return Most + 1
		}
	}
	return n
}

// escaped keeps a value from looking like the end of itself.
var escaped = strings.NewReplacer("%", "%25", ",", "%2C", "=", "%3D", "\n", "%0A")

// NameOf returns the name of the sector with these values; empty for none.
func NameOf(values map[string]string) string {
	parts := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, name+"="+escaped.Replace(values[name]))
	}
	return strings.Join(parts, ",")
}

// Find returns the sector with a name as people write it.
func Find(of map[string]Config, name string) (Sector, error) {
	all := List(of)
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
	}
	if len(all) == 0 {
		return Sector{}, fmt.Errorf("there is no partition %q: the source declares no partitions", name)
	}
	shown := make([]string, 0, mostShown)
	for _, s := range all[:min(len(all), mostShown)] {
		shown = append(shown, s.Name)
	}
	if len(all) > mostShown {
		shown = append(shown, fmt.Sprintf("and %d others", len(all)-mostShown))
	}
	return Sector{}, fmt.Errorf("there is no partition %q: the source declares %s", name, strings.Join(shown, ", "))
}

const mostShown = 8

// Settings returns the settings under which a source asks for one sector only, by its name, as --set takes them.
func Settings(of map[string]Config, name string) (out []string, err error) {
	s, err := Find(of, name)
	for _, entry := range slices.Sorted(maps.Keys(s.Values)) {
		out = append(out, fmt.Sprintf("partitions.%s.values=[%q]", entry, s.Values[entry]))
	}
	return out, err
}

// Validate refuses an entry that names nothing to ask for, or one thing twice.
func (c Config) Validate() error {
	if len(c.Values) == 0 {
		return fmt.Errorf("values: E-REQUIRED: lists what is asked for one by one")
	}
	seen := make(map[string]bool, len(c.Values))
	for _, v := range c.Values {
		switch {
		case v == "":
			return fmt.Errorf("values: E-PARTITION: an empty value would leave its parameter out, and so ask for all of the list")
		case seen[v]:
			return fmt.Errorf("values: E-PARTITION: %q stands there twice", v)
		case len(escaped.Replace(v)) > Longest/2:
			return fmt.Errorf("values: E-PARTITION: %q… is longer than %d bytes", v[:32], Longest/2)
		}
		seen[v] = true
	}
	return nil
}

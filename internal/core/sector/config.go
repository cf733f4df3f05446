package sector

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

// Config is one entry of the `partitions` section of a source: its key is the name that templates use.
type Config struct {
	Values []string `json:"values,omitempty" doc:"values to ask the list for one by one; each request sends one as ${partition.NAME}"`
	// ValuesFile stands for Values in a source file on disk alone: whoever reads that file puts the values in its place, so
	// that what is stored and what runs never depends on a file that changes.
	ValuesFile string `json:"valuesFile,omitempty" doc:"file with the values instead, one per line, below the folder of the source file; patra reads it together with the source file, so apply the source again when it changes"`
	// PerRequest and Join make one sector of several values, which a request sends at once.
	PerRequest int    `json:"perRequest,omitempty" doc:"how many values one request asks for, where the upstream takes several; default 1"`
	Join       string `json:"join,omitempty" doc:"what stands between the values of one request; default a comma"`
	// From takes the values from stored records instead.
	From *From `json:"from,omitempty" doc:"takes the values from stored records of another endpoint, of this or another source, instead of a list"`
	// InItem is held against what was asked for.
	InItem document.Path `json:"inItem,omitzero" doc:"path in an item to the value it belongs to; patra refuses an answer with an item of a value that it did not ask for, because what it asked for may be missing. An item without this path says nothing"`
	// RefusedStatus, Recheck and MaxRefused say how parts are handled that the upstream does not give us.
	RefusedStatus []int             `json:"refusedStatus,omitempty" doc:"HTTP statuses with which the upstream refuses one part of the list but gives the others, such as 403 or 451; a refused part stays owed, and is not asked for again before recheck"`
	Recheck       duration.Duration `json:"recheck,omitzero" doc:"how long a part that was refused is left alone (default P7D)"`
	MaxRefused    float64           `json:"maxRefused,omitzero" doc:"share of the parts, 0 to 0.5, that may be refused; if more are, that counts as a refused credential. One part always may (default 0.1)"`
}

// joint returns what stands between values that are sent at once.
func (c Config) joint() string { return cmp.Or(c.Join, ",") }

// Groups returns what each request asks for: the values one by one, or several at once. Groups do not depend on the order
// in the file, because the question does not.
func (c Config) Groups() []string {
	if c.From != nil {
		return []string{Run{0, 1}.String()}
	}
	if c.PerRequest <= 1 {
		return c.Values
	}
	var out []string
	for few := range slices.Chunk(slices.Sorted(slices.Values(c.Values)), c.PerRequest) {
		out = append(out, strings.Join(few, c.joint()))
	}
	return out
}

// members returns the values that a group was made of.
func (c Config) members(group string) []string {
	if c.PerRequest <= 1 {
		return []string{group}
	}
	return strings.Split(group, c.joint())
}

// PartsOf returns where items name the values that they belong to, by the names of the entries that say so.
func PartsOf(of map[string]Config) map[string]extract.Part {
	out := map[string]extract.Part{}
	for name, c := range of {
		if !c.InItem.IsZero() {
			out[name] = extract.Part{At: c.InItem, Values: c.members}
		}
	}
	return out
}

// Most is how many sectors a source may have: all of them stand in its snapshot.
const Most = 10_000

// mostPerRequest is how many values one request may ask for.
const mostPerRequest = 1000

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
			for _, v := range of[name].Groups() {
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
		if c.From != nil {
			continue // in runs, as many as it takes
		}
		if n *= (len(c.Values) + max(1, c.PerRequest) - 1) / max(1, c.PerRequest); n > Most {
			return Most + 1
		}
	}
	return n
}

// escaped keeps a value from looking like the end of itself.
var escaped = strings.NewReplacer("%", "%25", ",", "%2C", "=", "%3D", "\n", "%0A")

// NameOf returns the name of the sector with these values; empty for none. A name that would be too long ends with its hash.
func NameOf(values map[string]string) string {
	parts := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, name+"="+escaped.Replace(values[name]))
	}
	text := strings.Join(parts, ",")
	if len(text) > Longest {
		hash := "~" + fingerprint.Key(text)
		text = strings.ToValidUTF8(text[:Longest-len(hash)], "") + hash
	}
	return text
}

// Find returns the sector with a name as people write it. A value that is asked for together with others names all of them.
func Find(of map[string]Config, name string) (Sector, error) {
	if _, from := Parent(of); from != nil {
		if s, ok := Parse(of, name); ok {
			return s, nil
		}
		return Sector{}, fmt.Errorf("there is no partition %q: write the name of each entry and the id of the stored record, such as repo=17; with several entries in alphabetical order and commas between them", name)
	}
	all := List(of)
	for _, s := range all {
		if s.Name == name || s.has(of, name) {
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

// has reports whether a name means values that the sector asks for among others.
func (s Sector) has(of map[string]Config, name string) bool {
	named := strings.Split(name, ",")
	if len(named) != len(s.Values) {
		return false
	}
	for _, one := range named {
		entry, value, _ := strings.Cut(one, "=")
		if !slices.ContainsFunc(of[entry].members(s.Values[entry]), func(v string) bool { return escaped.Replace(v) == value }) {
			return false
		}
	}
	return true
}

// Settings returns the settings under which a source asks for one sector only, by its name, as --set takes them.
func Settings(of map[string]Config, name string) (out []string, err error) {
	if _, from := Parent(of); from != nil {
		return nil, fmt.Errorf("the parts come from stored records of the endpoint %s, and one of them alone cannot be asked for as a question of its own; leave --partition out", from)
	}
	s, err := Find(of, name)
	for _, entry := range slices.Sorted(maps.Keys(s.Values)) {
		var values []string
		for _, v := range of[entry].members(s.Values[entry]) {
			values = append(values, strconv.Quote(v))
		}
		out = append(out, fmt.Sprintf("partitions.%s.values=[%s]", entry, strings.Join(values, ", ")))
	}
	return out, err
}

// Validate refuses an entry that names nothing to ask for, or one thing twice.
func (c Config) Validate() error {
	if err := c.validateRefused(); err != nil {
		return err
	}
	if c.ValuesFile != "" {
		return fmt.Errorf("valuesFile: E-VALUES-FILE: no file is read here: only commands that read a source file from disk read the files beside it. Write the values out (values), or apply the source file with the command line")
	}
	if c.From != nil {
		if len(c.Values) > 0 || c.PerRequest != 0 || c.Join != "" {
			return fmt.Errorf("from: E-PARTITION: values come from stored records or from a list, one by one; drop values, perRequest and join")
		}
		return c.From.validate()
	}
	if len(c.Values) == 0 {
		return fmt.Errorf("values: E-REQUIRED: lists what is asked for one by one, or name the endpoint whose records are (from)")
	}
	if c.PerRequest < 0 || c.PerRequest > mostPerRequest {
		return fmt.Errorf("perRequest: E-PARTITION: expected 1 to %d values", mostPerRequest)
	}
	if c.Join != "" && c.PerRequest <= 1 {
		return fmt.Errorf("join: E-PARTITION: nothing is joined while a request asks for one value; set perRequest too")
	}
	seen := make(map[string]bool, len(c.Values))
	for _, v := range c.Values {
		switch {
		case v == "":
			return fmt.Errorf("values: E-PARTITION: an empty value would leave its parameter out, and so ask for all of the list")
		case c.PerRequest > 1 && strings.Contains(v, c.joint()):
			return fmt.Errorf("values: E-PARTITION: %q contains %q, which stands between values of one request", v, c.joint())
		case seen[v]:
			return fmt.Errorf("values: E-PARTITION: %q stands there twice", v)
		case len(escaped.Replace(v)) > Longest/2:
			return fmt.Errorf("values: E-PARTITION: %q… is longer than %d bytes", v[:32], Longest/2)
		}
		seen[v] = true
	}
	return nil
}

package sector

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/record"
)

// From says that the values of an entry come from stored records: each record of another endpoint that is there, its parent,
// makes one part of the list.
type From struct {
	Source   string                      `json:"source,omitempty" doc:"another source that the records belong to; what requests send of them leaves this machine, so it needs consent (default this source)"`
	Endpoint string                      `json:"endpoint" doc:"endpoint whose stored records are the parts; each record that is there (ACTIVE) is asked for"`
	Value    extract.Selector            `json:"value" doc:"what of such a record requests send as ${partition.NAME}: a path in its item, or a template"`
	Carry    map[string]extract.Selector `json:"carry,omitempty" doc:"more of the record, by name: ${partition.NAME.FIELD}"`
	Since    extract.Selector            `json:"since,omitzero" doc:"since when there may be items of a record: a record that is new is read from then on (default window.earliest)"`
	Changed  bool                        `json:"changed,omitempty" doc:"a harvest asks only for records that changed since the last one, because the upstream promises that a record changes when something below it does; all others are asked for in turns (sweep)"`
	Sweep    duration.Duration           `json:"sweep,omitzero" doc:"with changed: within which time every record is asked for at least once, changed or not, from PT1H to P366D (default P30D)"`
}

// String names the endpoint, with its source if that is another one.
func (f *From) String() string {
	if f.Source != "" {
		return f.Source + "/" + f.Endpoint
	}
	return f.Endpoint
}

// Bounds of a sweep. A shorter one asks for all records with nearly every harvest; a longer one is no check of a promise.
const (
	usualSweep    = 30 * 24 * time.Hour
	shortestSweep = time.Hour
	longestSweep  = 366 * 24 * time.Hour
)

// Cycle returns within which time every record is asked for at least once.
func (f *From) Cycle() duration.Duration { return cmp.Or(f.Sweep, duration.Duration(usualSweep)) }

// Parent returns the entry whose values come from stored records, with its name; none if all values are listed.
func Parent(of map[string]Config) (name string, from *From) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if of[name].From != nil {
			return name, of[name].From
		}
	}
	return "", nil
}

// Run is a part of all parents, by the hashes of their ids: the No-th of Of equal parts, counted from 0. Bounds of hashes
// stay true while parents come and go; a list of them would not.
type Run struct{ No, Of int }

// MostRuns is how many runs all parents may be divided into.
const MostRuns = 1024

// perRun is how many parents make a run: so few slices for a million of them that a plan costs what it costs for a few, and
// so many that workers share them.
const perRun = 2000

// RunsFor returns into how many runs so many parents are divided.
func RunsFor(parents int64) int {
	if parents <= perRun {
		return 1
	}
	return min(MostRuns, 1<<bits.Len64(uint64((parents-1)/perRun)))
}

// String returns the run as it stands in the place of a value.
func (r Run) String() string { return fmt.Sprintf("~%d/%d", r.No, r.Of) }

// Bounds returns between which hashes the run lies, as hexadecimal beginnings of keys: from is in it, to is not. Empty: no end.
func (r Run) Bounds() (from, to string) {
	at := func(no int) string { return fmt.Sprintf("%04x", no*(1<<16/r.Of)) }
	if from = at(r.No); r.No == 0 {
		from = ""
	}
	if r.No+1 < r.Of {
		to = at(r.No + 1)
	}
	return from, to
}

// Holds reports whether a parent lies in the run.
func (r Run) Holds(key record.Key) bool {
	return (int(key[0])<<8|int(key[1]))/(1<<16/r.Of) == r.No
}

// ParentValue returns what stands in the place of the value where one parent is asked for: its id. A long one is named by its
// key, or the name would be cut and nobody could find the parent by it.
func ParentValue(id string) string {
	if len(escaped.Replace(id)) > Longest/2 {
		key := record.KeyOf(id)
		return "~#" + hex.EncodeToString(key[:])
	}
	if strings.HasPrefix(id, "~") {
		return "~" + id
	}
	return id
}

// Meant is what a value of an entry with parents names: a run of them, or one by its key.
type Meant struct {
	Run *Run
	Key record.Key // of the one parent, if it is no run
}

var errNoParent = errors.New("it names neither a run of parents nor one of them")

// ParseParent reads what stands in the place of a value.
func ParseParent(value string) (m Meant, err error) {
	rest, special := strings.CutPrefix(value, "~")
	switch {
	case value == "":
		return m, errNoParent
	case !special:
		return Meant{Key: record.KeyOf(value)}, nil
	case strings.HasPrefix(rest, "~"):
		return Meant{Key: record.KeyOf(rest)}, nil
	}
	if text, byKey := strings.CutPrefix(rest, "#"); byKey {
		key, err := hex.DecodeString(text)
		if err != nil || len(key) != len(m.Key) {
			return m, errNoParent
		}
		return Meant{Key: record.Key(key)}, nil
	}
	no, of, _ := strings.Cut(rest, "/")
	var run Run
	if run.No, err = strconv.Atoi(no); err != nil {
		return m, errNoParent
	}
	if run.Of, err = strconv.Atoi(of); err != nil || run.Of < 1 || run.Of > MostRuns || bits.OnesCount(uint(run.Of)) != 1 || run.No < 0 || run.No >= run.Of {
		return m, errNoParent
	}
	return Meant{Run: &run}, nil
}

// Parse returns the sector with a name, where parts come from stored records: nobody has a list of them. ok is false for a
// name that the entries do not have.
func Parse(of map[string]Config, name string) (s Sector, ok bool) {
	values := map[string]string{}
	for _, part := range strings.Split(name, ",") {
		entry, value, found := strings.Cut(part, "=")
		c, known := of[entry]
		if !found || !known {
			return s, false
		}
		value = plain.Replace(value)
		if c.From != nil {
			if _, err := ParseParent(value); err != nil {
				return s, false
			}
		} else if !slices.Contains(c.Groups(), value) {
			return s, false
		}
		values[entry] = value
	}
	s = Sector{NameOf(values), values}
	return s, len(values) == len(of) && s.Name == name
}

// plain undoes escaped.
var plain = strings.NewReplacer("%25", "%", "%2C", ",", "%3D", "=", "%0A", "\n")

// ListRuns returns all sectors as List does, with parents divided into so many runs.
func ListRuns(of map[string]Config, runs int) []Sector {
	name, from := Parent(of)
	if from == nil {
		return List(of)
	}
	all := maps.Clone(of)
	values := make([]string, max(1, runs))
	for no := range values {
		values[no] = Run{no, len(values)}.String()
	}
	all[name] = Config{Values: values}
	return List(all)
}

// validate refuses parents of which nothing could be asked for.
func (f *From) validate() error {
	switch {
	case strings.ContainsAny(f.Source, "/: \t\n"):
		return fmt.Errorf("from.source: E-NAME: %q is no code of a source", f.Source)
	case f.Endpoint == "":
		return fmt.Errorf("from.endpoint: E-REQUIRED: names the endpoint whose records are asked for one by one")
	case f.Value.IsZero():
		return fmt.Errorf("from.value: E-REQUIRED: says what of such a record a request sends, such as $.id")
	case f.Value.IsConstant():
		return fmt.Errorf("from.value: E-PARTITION: it is the same for every record, so all of them would get the same answer")
	case f.Sweep != 0 && !f.Changed:
		return fmt.Errorf("from.sweep: E-PARTITION: without changed: true every harvest asks for all records; drop sweep")
	case f.Changed && (f.Cycle().Std() < shortestSweep || f.Cycle().Std() > longestSweep):
		return fmt.Errorf("from.sweep: E-PARTITION: %s is not between an hour (PT1H) and a year (P366D)", f.Sweep)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Carry)) {
		if strings.Trim(name, NameLetters) != "" || name == "" || len(name) > 32 {
			return fmt.Errorf("from.carry: E-NAME: %q is no name for templates: use up to 32 letters, digits and _", name)
		}
	}
	return nil
}

// NameLetters are what names of entries and of carried fields are written with.
const NameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// Package oaipmh makes a source file of what an OAI-PMH repository says about itself.
// The protocol is one for thousands of repositories: what differs is the address, how fine
// its dates are, since when it has records, and what it tells of deletions.
//
// It never sends a request: what to ask is a source like any other (ProbeFor), and the
// answers are handed in.
package oaipmh

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Address is where a repository answers, cut as a source file has it.
type Address struct {
	Base  string            // scheme and host
	Path  string            // of the interface
	Query map[string]string // parameters that belong to the address, such as repo=main
	// AllowHTTP and AllowPrivate are what a person agreed to for this address.
	AllowHTTP, AllowPrivate bool
}

// ownArguments are those of the protocol. People copy an address with a verb in it.
var ownArguments = []string{"verb", "metadataPrefix", "set", "from", "until", "resumptionToken", "identifier"}

// ParseAddress reads the address of a repository as people have it.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return Address{}, errors.New("is not an address such as https://repository.example.org/oai/request")
	case u.User != nil:
		return Address{}, errors.New("must not hold a user or a password")
	case strings.ContainsAny(text, "${}"):
		return Address{}, errors.New("must not hold $ or braces: they would be read as a template")
	}
	a := Address{Base: u.Scheme + "://" + u.Host, Path: u.EscapedPath(), Query: map[string]string{}}
	if a.Path == "" {
		a.Path = "/"
	}
	for name, values := range u.Query() {
		if !slices.Contains(ownArguments, name) {
			a.Query[name] = values[0]
		}
	}
	return a, nil
}

// Facts is what a repository says about itself, as it says it.
type Facts struct {
	Name        string   `json:"name,omitempty"`
	Version     string   `json:"protocolVersion,omitempty"`
	Earliest    string   `json:"earliestDatestamp,omitempty"`
	Granularity string   `json:"granularity,omitempty"`
	Deleted     string   `json:"deletedRecord,omitempty"`
	Prefixes    []string `json:"metadataPrefixes,omitempty"`
	Sets        []Set    `json:"sets,omitempty"`
	MoreSets    bool     `json:"moreSets,omitempty"` // these are the first page of them
}

// Set is a part of a repository that can be harvested alone.
type Set struct {
	Spec string `json:"spec"`
	Name string `json:"name,omitempty"`
}

// Wanted is what a person wants of the repository.
type Wanted struct {
	Code, File  string // of the source
	Prefix, Set string // empty: oai_dc, and all sets
	// BySet asks for each set by itself, as partitions.
	BySet bool
}

// daily is the granularity that every repository must have.
const daily = "YYYY-MM-DD"

// dublinCore is the format that every repository must have.
const dublinCore = "oai_dc"

// argument is what the protocol lets a format or a set be called, the quotation mark apart:
// such a name is safe in a template.
var argument = regexp.MustCompile(`^[A-Za-z0-9\-_.!~*():]{1,200}$`)

// Check refuses a format or a set that cannot be one.
func (w Wanted) Check() error {
	for what, name := range map[string]string{"format": w.Prefix, "set": w.Set} {
		if name != "" && !argument.MatchString(name) {
			return fmt.Errorf("%q is not the name of a %s (of letters, digits and -_.!~*(): only)", name, what)
		}
	}
	return nil
}

// choosePrefix returns the format to ask for.
func (f Facts) choosePrefix(wanted string) (string, string) {
	f.Prefixes = slices.DeleteFunc(slices.Clone(f.Prefixes), func(name string) bool { return !argument.MatchString(name) })
	switch {
	case wanted != "" && len(f.Prefixes) > 0 && !slices.Contains(f.Prefixes, wanted):
		return wanted, fmt.Sprintf("the repository does not list the format %s: it has %s", wanted, strings.Join(f.Prefixes, ", "))
	case wanted != "":
		return wanted, ""
	case len(f.Prefixes) == 0:
		return dublinCore, "the repository lists no metadata formats; oai_dc is taken, which the protocol demands"
	case !slices.Contains(f.Prefixes, dublinCore):
		return f.Prefixes[0], fmt.Sprintf("the repository does not list oai_dc, which the protocol demands; %s is taken", f.Prefixes[0])
	}
	return dublinCore, ""
}

// chooseEarliest returns since when the repository has records, as a day, and the precision
// of its dates. In doubt it is careful: days are understood by every repository, and no
// beginning at all only costs empty requests in a backfill.
func (f Facts) chooseEarliest(now time.Time) (earliest, precision string, notes []string) {
	day, whole := f.Earliest, false
	if i := strings.IndexAny(day, "Tt "); i >= 0 {
		day, whole = day[:i], true
	}
	at, err := time.Parse(time.DateOnly, day)
	switch {
	case f.Earliest == "":
		notes = append(notes, "the repository does not say since when it has records (earliestDatestamp): name a start with window.earliest before a backfill")
	case err != nil || at.Year() < 1:
		notes = append(notes, fmt.Sprintf("earliestDatestamp is %q, which is no date: it is left out", f.Earliest))
	case at.After(now):
		notes = append(notes, fmt.Sprintf("earliestDatestamp is %s, which lies in the future: it is left out", f.Earliest))
	default:
		earliest = at.Format(time.DateOnly)
	}
	switch said := strings.ToUpper(f.Granularity); {
	case said == strings.ToUpper("YYYY-MM-DDThh:mm:ssZ") && !whole && earliest != "":
		notes = append(notes, fmt.Sprintf("granularity says seconds, but earliestDatestamp %s is a day: days are asked for, which every repository takes", f.Earliest))
		return earliest, "DAY", notes
	case said == strings.ToUpper("YYYY-MM-DDThh:mm:ssZ"):
		return earliest, "SECOND", notes
	case said != daily:
		notes = append(notes, fmt.Sprintf("granularity is %q, which the protocol does not know: days are asked for, which every repository takes", f.Granularity))
	}
	return earliest, "DAY", notes
}

// mostSets is how many sets a file names.
const mostSets = 10_000

// partitionSets returns the sets that hold all others, to be asked for one by one: a set holds those whose names go on behind its
// own and a colon.
func (f Facts) partitionSets() (out []string) {
	known := map[string]bool{}
	for _, s := range f.Sets {
		if argument.MatchString(s.Spec) {
			known[s.Spec] = true
		}
	}
	for _, spec := range slices.Sorted(maps.Keys(known)) {
		within := false
		for i, c := range spec {
			within = within || c == ':' && known[spec[:i]]
		}
		if !within {
			out = append(out, spec)
		}
	}
	return out
}

// CheckBySet refuses to ask for each set by itself where not all of them are known: the others would be missing, and
// nothing would tell.
func (f Facts) CheckBySet() error {
	odd := slices.IndexFunc(f.Sets, func(s Set) bool { return !argument.MatchString(s.Spec) })
	switch n := len(f.partitionSets()); {
	case f.MoreSets:
		return errors.New("the repository lists its sets on several pages, and only the first is read: name the sets you want in partitions.set.values of the file, or take one with --set-spec")
	case odd >= 0:
		return fmt.Errorf("the set %q has a name that the protocol does not allow: name the sets you want in partitions.set.values of the file", oneLine(f.Sets[odd].Spec))
	case n == 0:
		return errors.New("the repository names no sets: leave --by-set out")
	case n > mostSets:
		return fmt.Errorf("the repository has %d sets, more than the %d that a file may name", n, mostSets)
	}
	return nil
}

// deletions says in a comment what the repository tells of records that it deleted.
func (f Facts) deletions() (comment, note string) {
	switch strings.ToLower(f.Deleted) {
	case "persistent":
		return "Deletions are announced and kept for ever (deletedRecord: persistent).", ""
	case "transient":
		return "Deletions are announced, but not for ever (deletedRecord: transient): harvest often.", "deletions are announced for a while only: a harvest that comes late misses some"
	case "no":
		return "Deletions are not announced (deletedRecord: no): what was deleted stays stored here.", "the repository does not announce deletions: what it deletes stays stored here"
	}
	return "Whether deletions are announced is not known: the repository does not say (deletedRecord).", "the repository does not say whether it announces deletions"
}

// FileFor writes the source file. Notes tell what could not be taken as the repository
// said it.
func FileFor(a Address, f Facts, w Wanted, now time.Time) (text string, notes []string) {
	prefix, note := f.choosePrefix(w.Prefix)
	notes = appendSaid(notes, note)
	earliest, precision, more := f.chooseEarliest(now)
	notes = append(notes, more...)
	deletions, note := f.deletions()
	notes = appendSaid(notes, note)
	if w.Set != "" && len(f.Sets) > 0 && !f.MoreSets && !slices.ContainsFunc(f.Sets, func(s Set) bool { return s.Spec == w.Set }) {
		notes = append(notes, fmt.Sprintf("the repository does not list the set %s", w.Set))
	}
	window := "lookback: P2D"
	if precision == "SECOND" {
		window = "lookback: PT6H"
	}
	if earliest != "" {
		window += "\n      # What the repository says of itself (earliestDatestamp).\n      earliest: " + earliest
	}
	set, partitions := "", ""
	switch {
	case w.BySet:
		set, partitions = "\n        set: ${if(page.token == '', partition.set, '')}", f.partitionsOf()
		notes = append(notes, "records that are in no set are not asked for: leave --by-set out if there are such records")
	case w.Set != "":
		set = "\n        set: ${if(page.token == '', " + quoteInTemplate(w.Set) + ", '')}"
	}
	return strings.NewReplacer(
		"{code}", w.Code, "{file}", w.File, "{name}", strconv.Quote(oneLine(nonEmpty(f.Name, w.Code))), "{address}", a.yaml(), "{path}", strconv.Quote(a.Path), "{extra}", a.extraQuery(),
		"{prefix}", quoteInTemplate(prefix), "{set}", set, "{partitions}", partitions, "{sets}", f.setsComment(), "{formats}", wrapList(nonEmpty(strings.Join(f.Prefixes, ", "), "not known")),
		"{precision}", precision, "{window}", window, "{deletions}", deletions, "{fields}", fieldsOf(prefix),
	).Replace(template), notes
}

func appendSaid(notes []string, note string) []string {
	if note == "" {
		return notes
	}
	return append(notes, note)
}

func nonEmpty(text, other string) string {
	if strings.TrimSpace(text) == "" {
		return other
	}
	return text
}

// oneLine makes a text of a stranger fit for a line of a file.
func oneLine(text string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	runes := []rune(strings.Join(strings.Fields(clean), " "))
	return string(runes[:min(len(runes), 100)])
}

// quoteInTemplate writes a text inside of ${…}.
func quoteInTemplate(text string) string { return "'" + strings.ReplaceAll(text, "'", "") + "'" }

// yaml is the address as the http section has it.
func (a Address) yaml() string {
	out := "baseUrl: " + strconv.Quote(a.Base)
	if a.AllowHTTP {
		out += "\n  # Plain http was agreed to: whoever is on the way can read and change answers.\n  allowHttp: true"
	}
	if a.AllowPrivate {
		out += "\n  # An address of this machine or network was agreed to.\n  allowPrivate: true"
	}
	return out
}

// extraQuery are the parameters of the address itself.
func (a Address) extraQuery() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a.Query)) {
		fmt.Fprintf(&out, "\n        %s: %s", strconv.Quote(name), strconv.Quote(a.Query[name]))
	}
	return out.String()
}

// partitionsOf names the sets, one a line.
func (f Facts) partitionsOf() string {
	var out strings.Builder
	out.WriteString("    # Each set is asked for separately, and one that fails holds back only itself. Records that are in no\n    # set are not asked for, and a set that is new is not before it is named here.\n    partitions:\n      set:\n        values:\n")
	for _, spec := range f.partitionSets() {
		fmt.Fprintf(&out, "          - %s\n", strconv.Quote(spec))
	}
	return out.String() + "\n"
}

// listedSets is how many sets are named in a comment.
const listedSets = 20

func (f Facts) setsComment() string {
	if len(f.Sets) == 0 {
		return "        # The repository names no sets."
	}
	var out strings.Builder
	fmt.Fprintf(&out, "        # To harvest one set, send it with the first page:\n        #   set: ${if(page.token == '', 'SPEC', '')}\n        # The first of its sets:")
	for _, s := range f.Sets[:min(len(f.Sets), listedSets)] {
		fmt.Fprintf(&out, "\n        #   %s  %s", oneLine(s.Spec), oneLine(s.Name))
	}
	return out.String()
}

func wrapList(text string) string {
	if runes := []rune(oneLine(text)); len(runes) > 60 {
		return string(runes[:60]) + " …"
	}
	return oneLine(text)
}

package registry

import (
	"fmt"
	"slices"
	"strings"
)

// GroupsLikeSources refuses rate groups that are called like another source. It
// would not be slowed down by that, but whoever reads the file would believe so.
func (s *Source) GroupsLikeSources(codes []string) Problems {
	var out Problems
	for _, l := range s.groupLeaves() {
		if name := textOf(l.Value); name != s.Code && slices.Contains(codes, name) {
			out = append(out, problemAt(l.At, l.Path.String(), fmt.Sprintf("E-RATE-GROUP: %s is a source, and no other file can share its rate", name),
				"give the group a name of its own, and name it in the file of each source that shares it"))
		}
	}
	return out.sortProblems()
}

// RateGroups returns the names of the groups that the file names, each once.
func (s *Source) RateGroups() []string {
	var out []string
	for _, l := range s.groupLeaves() {
		if name := textOf(l.Value); name != s.Code {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s *Source) groupLeaves() (out []Leaf) {
	for _, l := range s.allLeaves() {
		if path := l.Path.String(); path == "rate.group" || strings.HasSuffix(path, ".rate.group") {
			out = append(out, l)
		}
	}
	return out
}

package registry

import (
	"fmt"
	"maps"
	"slices"
)

// ReadList reads a file of values by its name as the source file writes it. An error says what is wrong, and in which line.
type ReadList func(file string) ([]string, error)

// Lists tells what came from files of values: how many values, by the path of the key that names the file.
type Lists map[string]ListRead

// Reaching returns the files whose values an operation of an endpoint may ask for, by their keys in order.
func (l Lists) Reaching(endpoint, operation string) (out []ListRead) {
	for _, key := range slices.Sorted(maps.Keys(l)) {
		path := l[key].at
		if path[0] == "endpoints" {
			if path[1] != endpoint {
				continue
			}
			path = path[ofEndpoint:]
		}
		if path[0] != "operations" || path[1] == operation {
			out = append(out, l[key])
		}
	}
	return out
}

// ListRead is one file of values that was read.
type ListRead struct {
	File   string
	Values int
	at     Path
}

// FillValues puts the values of files in the place of the keys that name them (valuesFile), at whatever level they stand.
// What is returned says nothing of files, so that what is stored, compared and exported is whole without them. A source
// that names none is returned as it is.
func (s *Source) FillValues(read ReadList) (*Source, Lists, Problems) {
	leaves, places := s.allLeaves(), maps.Clone(s.places)
	lists, problems := Lists{}, Problems{}
	for _, l := range leaves.sortLeaves() {
		p := l.Path.sectionPath()
		if len(p) != 3 || p[0] != "partitions" || p[2] != "valuesFile" || l.Value == "" {
			continue
		}
		key := l.Path.String()
		refuse := func(message, hint string) {
			problems = append(problems, problemAt(l.At, key, "E-VALUES-FILE: "+message, hint))
		}
		list := Leaf{Path: append(l.Path[:len(l.Path)-1:len(l.Path)-1], "values"), At: l.At}
		if _, both := leaves[list.Path.String()]; both {
			refuse("values stand beside it", "keep one of the two")
			continue
		}
		file := l.Value.(string)
		values, err := read(file)
		if err != nil {
			refuse(fmt.Sprintf("%s: %v", file, err), "")
			continue
		}
		list.Value = values
		delete(leaves, key)
		leaves.addLeaf(list)
		places[list.Path.String()] = l.At
		lists[key] = ListRead{file, len(values), l.Path}
	}
	if len(lists) == 0 || len(problems) > 0 {
		return s, nil, problems.sortProblems()
	}
	filled := sourceOf(leaves, places)
	return filled, lists, filled.checkExport(lists)
}

// checkExport refuses a source that could be stored and never be applied again, because its values written out are more
// than a source file may hold.
func (s *Source) checkExport(lists Lists) Problems {
	_, _, err := Decode("export", Export(s))
	if err == nil {
		return nil
	}
	for key := range lists {
		return Problems{problemAt(s.placeOf(key), key, "E-VALUES-FILE: with all values written out the source is larger than a source file may be: "+err.Error(), "use fewer or shorter values, or several sources")}
	}
	return nil
}

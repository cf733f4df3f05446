package spec

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Difference is a setting that two runs of the same source do not share.
type Difference struct{ Path, Before, Now string }

func (d Difference) String() string { return d.Path + " " + d.Before + " → " + d.Now }

// unset stands for a setting that is not there.
const unset = "(none)"

// Differences lists how the settings of a run differ from those of an earlier one. A
// key that only one of them knows is left out, unless it says who asks: a newer
// program knows more keys, and says their defaults.
func (s Snapshot) Differences(before Snapshot) (out []Difference) {
	old, now := leavesOf(before), leavesOf(s)
	paths := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(now))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		was, had := old[path]
		is, has := now[path]
		if was == is && had == has || had != has && !saysWho(path) {
			continue
		}
		out = append(out, Difference{path, shownSetting(path, was, had), shownSetting(path, is, has)})
	}
	return out
}

// saysWho reports whether a setting names the caller. Contact and credential may be
// missing, and that makes a difference.
func saysWho(path string) bool {
	path = strings.TrimPrefix(path, "detail.")
	return strings.HasPrefix(path, "contact.") || strings.HasPrefix(path, "auth.") || strings.HasPrefix(path, "credential.")
}

// shownSetting writes a value in a few words. An address of a person is not repeated
// in what may be a log.
func shownSetting(path, value string, set bool) string {
	const most = 60
	switch {
	case !set:
		return unset
	case strings.HasSuffix(path, contactName):
		return "(an address)"
	case len([]rune(value)) > most:
		return string([]rune(value)[:most]) + "…"
	}
	return value
}

// leavesOf lists the values of a snapshot by path, as JSON.
func leavesOf(s Snapshot) map[string]string {
	out := map[string]string{}
	text, err := json.Marshal(s)
	if err != nil {
		return out
	}
	var tree any
	reader := json.NewDecoder(bytes.NewReader(text))
	reader.UseNumber()
	if reader.Decode(&tree) == nil {
		collectLeaves(tree, "", out)
	}
	delete(out, "format")
	return out
}

func collectLeaves(value any, path string, out map[string]string) {
	if object, is := value.(map[string]any); is {
		for key, below := range object {
			collectLeaves(below, strings.TrimPrefix(path+"."+key, "."), out)
		}
		return
	}
	text, err := json.Marshal(value)
	if err != nil {
		return
	}
	out[path] = strings.Trim(string(text), `"`)
}

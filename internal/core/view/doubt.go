package view

import (
	"maps"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/skew"
)

// Doubt is what the answers of a source told about themselves in the last days,
// read under its newest snapshot.
type Doubt struct {
	Source    string `json:"source"`
	Endpoint  string `json:"endpoint"`
	Operation string `json:"operation"`

	Dated    int64       `json:"dated"`    // items with a date the filter selects by
	Outside  int64       `json:"outside"`  // of these, those outside of the request
	MaxShare float64     `json:"maxShare"` // filter.maxOutsideShare
	Apart    skew.Spread `json:"-"`        // how far they lie outside

	Lists      int64 `json:"lists"`      // slices read to their end whose total is an estimate
	ShortLists int64 `json:"shortLists"` // of these, those that brought less
	Announced  int64 `json:"announced"`  // of the short ones
	Delivered  int64 `json:"delivered"`

	Unsorted int64 `json:"unsorted"` // slices of a list that was not in the order its file declares

	Swept int64 `json:"swept,omitempty"` // records that were found below parents which had not changed

	Held     string `json:"held,omitempty"`     // why records that vanished from a list are not taken for gone, as of its last whole reading
	Vanished int64  `json:"vanished,omitempty"` // how many these are

	Members ingest.MembersSeen `json:"members,omitempty"` // of a pool of credentials: when each served and was refused

	LastAt time.Time `json:"lastAt"`
}

// About names the subject; a harvest is what people mean by a source.
func (d Doubt) About() string {
	about := d.Source + "/" + d.Endpoint
	if d.Operation != "HARVEST" {
		about += " " + d.Operation
	}
	return about
}

// Findings lists what a person should know. None of it is a hole: whatever came is
// stored, and what did not come was not announced for sure.
func (d Doubt) Findings() (out []FindingCode) {
	if skew.Disagree(d.Outside, d.Dated, d.MaxShare) {
		out = append(out, FoundDisagree)
	}
	if d.ShortLists > 0 {
		out = append(out, FoundShortLists)
	}
	if d.Unsorted > 0 {
		out = append(out, FoundUnsorted)
	}
	if d.Swept > 0 {
		out = append(out, FoundUnannounced)
	}
	if d.Held != "" {
		out = append(out, FoundVanished)
	}
	if len(d.RefusedMembers()) > 0 {
		out = append(out, FoundMember)
	}
	return out
}

// RefusedMembers lists the members of a pool that did not serve since they were refused.
func (d Doubt) RefusedMembers() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(d.Members)) {
		if d.Members[name].IsRefused() {
			out = append(out, name)
		}
	}
	return out
}

// DoubtDays is how long answers are remembered for this.
const DoubtDays = 7

package view

import "time"

// Footprint is how much room a database takes, and what for.
type Footprint struct {
	Bytes     int64       `json:"bytes"`          // of the database
	Free      int64       `json:"free"`           // of these, room that is used again
	Estimated bool        `json:"estimated"`      // the server tells about, not exactly
	Sampled   bool        `json:"sampled"`        // sources are told from a part of their versions
	Tables    []TableSize `json:"tables"`         // the largest first; none: they were not measured
	Sources   []RoomTaken `json:"sources"`        // by source and endpoint
	Records   int64       `json:"records"`        // of all sources
	JSONBytes int64       `json:"jsonBytes"`      // of the items as their sources sent them, all versions
	Rest      int64       `json:"bytesOfTheRest"` // of what is not content: heads, events, work, indexes
}

// TableSize is a table with its indexes.
type TableSize struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// RoomTaken is the part of one endpoint.
type RoomTaken struct {
	DatasetID int64  `json:"-"`
	Source    string `json:"source"`
	Endpoint  string `json:"endpoint"`
	Records   int64  `json:"records"`
	Versions  int64  `json:"versions"`
	Bytes     int64  `json:"bytes"`     // that their versions take
	JSONBytes int64  `json:"jsonBytes"` // of their items as the source sent them
	// PerRecord is what a record takes: its content, and its share of the rest.
	PerRecord int64 `json:"bytesPerRecord"`
}

// SumUp works out what follows from the parts. content is how much room the tables of
// versions take, which the parts share; 0: that is not known, and the parts stand for it.
func (f *Footprint) SumUp(content int64) {
	var parts int64
	f.Records, f.JSONBytes = 0, 0
	for _, s := range f.Sources {
		f.Records, f.JSONBytes, parts = f.Records+s.Records, f.JSONBytes+s.JSONBytes, parts+s.Bytes
	}
	if content == 0 || f.Estimated {
		content = max(content, parts)
	} else if parts > 0 { // pages are not full
		for i := range f.Sources {
			f.Sources[i].Bytes = int64(float64(f.Sources[i].Bytes) / float64(parts) * float64(content))
		}
	}
	f.Rest = max(0, f.Bytes-f.Free-content)
	for i := range f.Sources {
		if s := &f.Sources[i]; s.Records > 0 {
			s.PerRecord = s.Bytes/s.Records + f.Rest/f.Records
		}
	}
}

// SizeNoted is what the last measurement said; zero: there was none.
type SizeNoted struct {
	At        time.Time `json:"measuredAt"`
	Bytes     int64     `json:"bytes"`
	JSONBytes int64     `json:"jsonBytes"`
}

// Sizes is how much room the database took when it was measured last.
type Sizes struct {
	SizeNoted
	Records []RecordSize `json:"records"` // by source and endpoint
}

// RecordSize is what a record of an endpoint takes: its content, and its share of the rest.
type RecordSize struct {
	Source    string `json:"source"`
	Endpoint  string `json:"endpoint"`
	PerRecord int64  `json:"bytesPerRecord"`
}

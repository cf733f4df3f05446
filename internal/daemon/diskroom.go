package daemon

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/disk"
)

// place is where the files of an app lie, as inspect reads it.
type place struct{ *App }

// Disks measures the disks of the database file, of bodies and of archives. Those that agree
// to the byte are one. What cannot be measured is left out: the files may lie on a server.
func (p place) Disks() (out []view.Disk) {
	file, local := strings.CutPrefix(p.config.Database, "sqlite:")
	if local {
		file = filepath.Dir(followLinks(file))
	}
	for _, f := range []struct {
		holds, path string
		there       bool
	}{{view.HoldsDatabase, file, local}, {view.HoldsBodies, p.config.Raw.Dir, p.raw != nil}, {"archives", p.config.Archive.Dir, p.config.Archive.Dir != ""}} {
		if !f.there {
			continue
		}
		room, err := disk.At(f.path)
		if err != nil {
			continue
		}
		same := slices.IndexFunc(out, func(d view.Disk) bool { return d.Total == room.Total && d.Free == room.Free })
		if same >= 0 {
			out[same].Holds = append(out[same].Holds, f.holds)
			continue
		}
		whole, err := filepath.Abs(f.path)
		if err != nil {
			whole = f.path
		}
		out = append(out, view.Disk{Path: whole, Holds: []string{f.holds}, Total: room.Total, Free: room.Free})
	}
	return out
}

// RawRoom tells how much room the bodies take; nil where that is not known.
func (p place) RawRoom() *view.RawRoom { return p.rawRoom() }

package files

import (
	"fmt"
	"time"
)

// Set is what is known of the files of a set that were wholly read.
type Set struct {
	Read           int
	Undated        int       // of these, files without a date
	Oldest, Newest time.Time // dates of the others
}

// AsOf returns as of when a set that is wholly read is known: whatever was there before that is in
// it. No file says more than its date, so the oldest one decides; where each file holds
// everything, the newest one does. A date that has not come says nothing: listed is when the
// files were listed. age is how much older than its date the content of a file may be.
func (s Set) AsOf(take Take, listed time.Time, age time.Duration) (time.Time, error) {
	if s.Read == 0 {
		return time.Time{}, fmt.Errorf("no file was read yet")
	}
	if s.Undated > 0 {
		return time.Time{}, fmt.Errorf("%d of the %d files that were read have no date, so it is unknown as of when they are (response.updatedAt of the LISTING endpoint)", s.Undated, s.Read)
	}
	at := s.Oldest
	if take == TakeNewest {
		at = s.Newest
	}
	if listed.Before(at) {
		at = listed
	}
	return at.Add(-age), nil
}

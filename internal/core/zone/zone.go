// Package zone is a time zone as a source file names it: UTC, an offset such as
// +09:00, or a name of the zone database such as Europe/London.
//
// One zone has one spelling, so that another way to write it changes no
// fingerprint, and it means the same on every machine: "Local" does not exist
// here, and the zone database is part of the program. Two names of one zone, such
// as Japan and Asia/Tokyo, stay two: the database does not say that one is a link
// to the other.
package zone

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a machine may have no zone database
)

// Zone is the canonical spelling of a time zone. The zero Zone is UTC.
type Zone string

// UTC is the zone of what names none.
const UTC Zone = "UTC"

var (
	offsetForm = regexp.MustCompile(`^([+-])(\d{1,2}):?(\d{2})?$`)
	// Zone files are found by any spelling on some systems; only the spelling of
	// the database means the same everywhere.
	nameForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*$`)
)

// maxOffsetHours is a little more than the zones on the map have.
const maxOffsetHours = 15

// Parse reads a zone in any of its spellings.
func Parse(text string) (Zone, error) {
	text = strings.TrimSpace(text)
	switch strings.ToUpper(text) {
	case "UTC", "Z", "GMT", "ETC/UTC", "ETC/GMT", "ETC/UCT", "UCT", "ZULU", "ETC/ZULU", "UNIVERSAL", "ETC/UNIVERSAL":
		return UTC, nil
	}
	if seconds, ok := offset(text); ok {
		return atOffset(seconds), nil
	}
	if nameForm.MatchString(text) && text != "Local" {
		if _, err := time.LoadLocation(text); err == nil {
			return Zone(text), nil
		}
	}
	return "", fmt.Errorf("%.60q is not a time zone: use UTC, an offset such as +09:00, or a name such as Europe/London", text)
}

// Location returns what the time package wants.
func (z Zone) Location() (*time.Location, error) {
	if z == "" {
		return time.UTC, nil
	}
	parsed, err := Parse(string(z))
	if err != nil {
		return nil, err
	}
	if parsed == UTC {
		return time.UTC, nil
	}
	if seconds, ok := offset(string(parsed)); ok {
		return time.FixedZone(string(parsed), seconds), nil
	}
	return time.LoadLocation(string(parsed))
}

// UnmarshalText reads a zone and canonicalises its spelling.
func (z *Zone) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err == nil {
		*z = parsed
	}
	return err
}

// MarshalText writes the canonical spelling.
func (z Zone) MarshalText() ([]byte, error) { return []byte(z), nil }

// offset reads +09:00, -0330 and +9 as seconds east of UTC.
func offset(text string) (seconds int, ok bool) {
	part := offsetForm.FindStringSubmatch(text)
	if part == nil {
		return 0, false
	}
	hours, _ := strconv.Atoi(part[2])
	minutes, _ := strconv.Atoi("0" + part[3])
	if hours > maxOffsetHours || minutes > 59 {
		return 0, false
	}
	seconds = hours*3600 + minutes*60
	if part[1] == "-" {
		seconds = -seconds
	}
	return seconds, true
}

func atOffset(seconds int) Zone {
	if seconds == 0 {
		return UTC
	}
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	return Zone(fmt.Sprintf("%c%02d:%02d", sign, seconds/3600, seconds/60%60))
}

// Package disk measures how much room is left where files are kept.
//
// It must never write: whoever looks at a disk that is full must not make it fuller.
package disk

import (
	"errors"
	"os"
	"path/filepath"
)

// Room is how much of a disk there is and how much of it we may still use.
type Room struct{ Total, Free uint64 }

// ErrUnknown: this system does not tell.
var ErrUnknown = errors.New("this system does not tell how much room is left")

// At measures the disk that a path lies on. What does not exist yet would be on the disk of
// the nearest folder above that does.
func At(path string) (Room, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Room{}, err
	}
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return measure(path)
		}
		path = filepath.Dir(path)
	}
}

package disk

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/need"
)

// A folder that is made later is on the disk of the one above.
func TestRoomOfWhatIsNotThereYet(t *testing.T) {
	dir := t.TempDir()
	there, err := At(dir)
	if errors.Is(err, ErrUnknown) {
		need.Missing(t, "how full a disk is cannot be told on this system: %v", err)
	}
	if err != nil || there.Total == 0 || there.Free > there.Total {
		t.Fatalf("%+v %v", there, err)
	}
	later, err := At(filepath.Join(dir, "raw", "ab"))
	if err != nil || later.Total != there.Total {
		t.Errorf("%+v %v, want the disk of %+v", later, err, there)
	}
}

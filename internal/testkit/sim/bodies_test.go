package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// bodies keeps what was read, in memory, on a disk that is full at times.
type bodies struct {
	mu     sync.Mutex
	random *rand.Rand
	chance float64
	kept   map[string]bool
}

func (b *bodies) set(chance float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.chance = chance
}

// Get finds nothing: no scenario reads an answer again.
func (b *bodies) Get(context.Context, string) ([]byte, error) { return nil, fault.ErrNotFound }

func (b *bodies) Put(_ context.Context, body []byte, _ string, _ []ingest.PackedPart) (ref string, stored int64, err error) {
	sum := sha256.Sum256(body)
	ref = hex.EncodeToString(sum[:])
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.random.Float64() < b.chance {
		return "", 0, errors.New("no space left on device")
	}
	b.kept[ref] = true
	return ref, int64(len(body)), nil
}

package redisgate

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// Release ends a pause of a key, and forgets what was used of its quotas, because a
// person has lifted both (D§5.31). Every process that shares the key does it, since
// each shows the server what it knows.
func (g *Gate) Release(ctx context.Context, name string) error {
	g.mu.Lock()
	k := g.keys[name]
	g.mu.Unlock()
	if k != nil {
		k.releaseKey()
	}
	return g.wire.releaseOnServer(ctx, name)
}

func (k *key) releaseKey() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cool, k.notBefore = time.Time{}, time.Time{}
	for i := range k.accounts {
		a := &k.accounts[i]
		a.mine, a.sum, a.then, a.back = 0, 0, 0, 0
	}
	if len(k.waiting) > 0 {
		k.urgent = true
		k.wakePump()
	}
}

// Redeclare takes over limits of a key after its source file has changed: what
// earlier requests declared would otherwise hold for a minute more.
func (g *Gate) Redeclare(name string, l gate.Limits) {
	g.mu.Lock()
	k := g.keys[name]
	g.mu.Unlock()
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.declared = nil
	k.declareLimits(l, time.Now())
	k.notBefore = time.Time{}
	if len(k.waiting) > 0 {
		k.urgent = true
		k.wakePump()
	}
}

// releaseOnServer throws away what the server keeps of quotas and of a pause. The bucket
// of the key begins empty.
func (w *wire) releaseOnServer(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	base := w.prefix + key
	both := w.client.TxPipeline()
	both.Del(ctx, base+":hour", base+":day", base+":money")
	both.HSet(ctx, base+":state", "cool", 0)
	_, err := both.Exec(ctx)
	return err
}

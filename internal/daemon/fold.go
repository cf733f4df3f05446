package daemon

import "context"

// foldBodies keeps versions in frames while this process works: what an older program
// or many small batches stored in rows, and frames that pruning made small.
func (a *App) foldBodies(ctx context.Context) {
	s, err := a.Maintenance()
	if err != nil {
		a.config.Log.Warn("older versions were not moved into frames; it is tried again, patra db compact does it now", "error", err)
		return
	}
	s.KeepFolded(ctx)
}

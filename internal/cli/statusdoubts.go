package cli

import "context"

// doubts adds what the answers of sources tell about themselves. What counts is
// decided by view.Doubt.
func (l *looker) doubts(ctx context.Context, source string) error {
	all, err := l.app.Store.Doubts(ctx, source)
	for _, d := range all {
		for _, text := range d.Findings() {
			l.find(d.About(), "%s", text)
		}
	}
	return err
}

package cli

import "context"

// lastCheck adds that the database was not checked for long, or is damaged. It is of no
// single source.
func (l *looker) lastCheck(ctx context.Context, source string) error {
	if source != "" {
		return nil
	}
	last, err := l.app.Store.LastCheck(ctx)
	if err != nil {
		return err
	}
	if text := last.Finding(l.report.Now, l.checkAge); text != "" {
		l.find("database", "%s", text)
	}
	return nil
}

package filecopy

// lockFile takes nothing: on this system only the workers of one process are kept apart.
func lockFile(string) (release func() error, err error) { return func() error { return nil }, nil }

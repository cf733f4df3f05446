package store

// FittingRejects is the statement that reads a chunk of what an operator discards.
var FittingRejects = fittingRejects

// ByIndex is how the database is told to read by an index.
func (s *Store) ByIndex() string { return s.dialect.ByIndex }

package view

// Migrated is what bringing a database up to date came to, or would.
type Migrated struct {
	Latest int         // highest version this program knows
	Empty  bool        // the database had no table at all
	Steps  []Migration // oldest first; none: it was up to date
}

// Migration is one step of the schema's history.
type Migration struct {
	Version int
	Name    string
}

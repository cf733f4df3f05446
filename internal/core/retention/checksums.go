package retention

// Checksummed is what one step did that gives older versions of records their checksums.
type Checksummed struct {
	Bodies  int64    // that got theirs
	Damaged []string // those that do not fit the hash of their record, and stay as they are
	End     bool     // nothing is left to do
}

package secret

// Purpose is what a value is read for. Where it goes decides whether it may be
// read at all.
type Purpose struct {
	Host string // it goes there; see trust.HostOf
	// Signs: the value itself is not sent, a signature made with it is. Only such a
	// value may have several lines.
	Signs bool
}

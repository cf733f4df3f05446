package upsim

// stream is a splitmix64 sequence. It is written out here because every value
// of a data set hangs on it: a library may change its numbers, this may not.
type stream uint64

func newStream(parts ...uint64) stream {
	s := stream(0x6a09e667f3bcc909)
	for _, p := range parts {
		s = stream(mixBits(uint64(s) ^ mixBits(p+0x9e3779b97f4a7c15)))
	}
	return s
}

func mixBits(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func (s *stream) nextNumber() uint64 {
	*s += 0x9e3779b97f4a7c15
	return mixBits(uint64(*s))
}

// numberBelow gives a number in [0, n); the bias of the modulo is far below what a
// simulation can notice.
func (s *stream) numberBelow(n int) int {
	if n <= 1 {
		return 0
	}
	return int(s.nextNumber() % uint64(n))
}

func pickOne[T any](s *stream, from []T) T { return from[s.numberBelow(len(from))] }

// happens returns true in about p of all cases.
func (s *stream) happens(p float64) bool {
	return float64(s.nextNumber()>>11)/(1<<53) < p
}

package threshold

// Room on a disk that always counts as enough, and as too little.
const (
	ampleRoom  = 20 << 30
	scarceRoom = 500 << 20
)

// IsScarce reports whether little room is left on a disk: less than a share of it, unless
// that is still plenty, or so little that no share matters.
func IsScarce(total, free uint64, share float64) bool {
	return total > 0 && (free < scarceRoom && float64(free) < float64(total)/2 || free < ampleRoom && float64(free) < share*float64(total))
}

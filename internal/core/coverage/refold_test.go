package coverage

// Refold is the state after all events of a ledger, oldest first (I5).
func Refold(events []Event) (s State) {
	for _, e := range events {
		s = Fold(s, e)
	}
	return s
}

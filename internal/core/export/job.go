package export

// StatesFor returns the records that are wanted where nobody said which: who goes on from
// an earlier export has to hear of those that are gone.
func StatesFor(chosen States, goesOn bool) States {
	switch {
	case chosen != "":
		return chosen
	case goesOn:
		return All
	}
	return Active
}

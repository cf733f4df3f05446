package refresh

// MaxGone is the share of the records asked for that may be missing unless a
// source says otherwise.
const MaxGone = 0.1

// AlwaysBelieved is how many missing records are believed whatever their share:
// three records that somebody named may all be retracted.
const AlwaysBelieved = 10

// Believable reports whether so many missing records of those asked for can be
// deletions. An upstream with a broken index loses most of them at once; real
// retractions never reach a tenth of a library in a day.
func Believable(missing, asked int, share float64) bool {
	return missing <= AlwaysBelieved || float64(missing) <= share*float64(asked)
}

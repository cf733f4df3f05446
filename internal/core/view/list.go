package view

// List is one page of a list as programs get it: from the command line with
// -o json, and from whatever else shows lists to programs. All three members are
// always there, so that nobody has to tell an array from an object.
type List[T any] struct {
	Items []T  `json:"items"`
	More  bool `json:"more"` // there are items behind these
	// Next is where the next page begins, as the same list takes it; nil if there
	// is none.
	Next *string `json:"next"`
}

// Whole returns a list that has no other page.
func Whole[T any](items []T) List[T] {
	if items == nil {
		items = []T{} // an empty list is [], never null
	}
	return List[T]{Items: items}
}

// Paged cuts rows of which one more was read than a page holds: that one only says
// that there is a next page, which begins behind the last row shown.
func Paged[T any](rows []T, limit int, position func(T) string) List[T] {
	if len(rows) <= limit {
		return Whole(rows)
	}
	next := position(rows[limit-1])
	return List[T]{Items: rows[:limit], More: true, Next: &next}
}

// Filter narrows a list. Zero fields do not filter.
type Filter struct {
	Source string
	Status string
	PlanID int64
	TaskID int64
	RunID  int64
	Sector string // of slices: part of the list they are for, such as set=cs
	Before int64  // ids below this one: the next page of a list
	Limit  int
}

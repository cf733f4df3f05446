package simulated

// Daily is a source that is asked for one day at a time: its request names the
// day of the slice.
func Daily() Form {
	return Form{
		Name: "daily", path: "daily",
		window: "query:\n  day: ${filter.at}\n  size: ${page.size}\n  offset: ${page.offset}",
		paging: "type: OFFSET\nstable: true",
	}
}

// DailySettings say what the head of the forms does not: the upstream knows days
// only, and one of them at a time.
func DailySettings() []string {
	return []string{"filter.precision=DAY", "filter.to=INCLUSIVE", "filter.format=yyyy-MM-dd", "filter.bounds=UNIT"}
}

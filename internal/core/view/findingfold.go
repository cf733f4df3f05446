package view

// ToldAlike is how many findings of one kind are told one by one: gaps of an endpoint, and
// slices that started over.
const ToldAlike = 3

// FoldedFinding is a finding that is told, or one that stands for others alike.
type FoldedFinding struct {
	Finding
	More int // it stands for so many that are not told one by one; 0: for itself
}

// FoldFindings leaves out what is told often enough: of many alike the first few are told,
// and one that stands for the rest.
func FoldFindings(all []Finding) (out []FoldedFinding) {
	type alike struct {
		code FindingCode
		Subject
	}
	kind := func(f Finding) alike {
		if f.Code == FoundGap {
			return alike{f.Code, f.Subject}
		}
		return alike{code: f.Code}
	}
	total, told := map[alike]int{}, map[alike]int{}
	for _, f := range all {
		total[kind(f)]++
	}
	for _, f := range all {
		told[kind(f)]++
		switch n := told[kind(f)]; {
		case f.Code != FoundGap && f.Code != FoundStartedOver, n <= ToldAlike:
			out = append(out, FoldedFinding{Finding: f})
		case n == ToldAlike+1:
			out = append(out, FoldedFinding{f, total[kind(f)] - ToldAlike})
		}
	}
	return out
}

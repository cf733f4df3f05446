// Package spelling guesses which word of a closed list somebody meant.
//
// It only ever suggests: nothing may act on a guess.
package spelling

import "strings"

// Nearest returns a word that differs by a slip, or that continues the given
// one; "" when none is close enough.
func Nearest(name string, valid []string) string {
	best, limit := "", max(len(name)/3, 1)+1
	for _, candidate := range valid {
		if distance := editDistance(strings.ToLower(name), strings.ToLower(candidate)); distance < limit {
			best, limit = candidate, distance
		}
	}
	if best != "" || len(name) < 3 {
		return best
	}
	for _, candidate := range valid {
		if strings.HasPrefix(strings.ToLower(candidate), strings.ToLower(name)) {
			return candidate
		}
	}
	return ""
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours. Long words are cut: a slip is never hundreds of letters long.
func editDistance(a, b string) int {
	const longest = 64
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	var rows [longest + 1][longest + 1]int
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			if i == 0 || j == 0 {
				rows[i][j] = i + j
				continue
			}
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(replaced, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

package registry

import (
	"fmt"
	"strings"
)

// hintFor helps with a word that is not in a closed list: the likely meaning,
// else the whole list.
func hintFor(word string, valid []string, what string) string {
	if near := nearest(word, valid); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return what + ": " + strings.Join(valid, ", ")
}

// nearest is the closest word, or "" when none is close enough to be a slip.
func nearest(word string, valid []string) string {
	best, at := "", max(len(word)/3, 1)+1
	for _, candidate := range valid {
		distance := editDistance(strings.ToLower(word), strings.ToLower(candidate))
		if distance < at {
			best, at = candidate, distance
		}
	}
	return best
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours. Words are cut: nobody means a key by hundreds of letters.
func editDistance(a, b string) int {
	const longest = 64
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

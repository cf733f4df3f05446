package registry

import (
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/spelling"
)

// hintFor helps with a word that is not in a closed list: the likely meaning,
// else the whole list.
func hintFor(word string, valid []string, what string) string {
	if near := spelling.Nearest(word, valid); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return what + ": " + strings.Join(valid, ", ")
}

package e2e

import (
	"encoding/json"

	"github.com/patra-ingest/patra/internal/core/view"
)

// decodeItems reads the items of a list that the program printed with -o json.
func decodeItems[T any](out string, into *[]T) error {
	var page view.List[T]
	err := json.Unmarshal([]byte(out), &page)
	*into = page.Items
	return err
}

// isEmptyList reports whether the program printed a list with nothing in it.
func isEmptyList(out string) bool {
	var page view.List[json.RawMessage]
	return json.Unmarshal([]byte(out), &page) == nil && page.Items != nil && len(page.Items) == 0 && !page.More
}

package wording

import (
	"encoding/json"

	"github.com/patra-ingest/patra/internal/core/query"
)

// ExpressionText writes a stored expression as people write one. What cannot be read
// is shown as it is stored: a detail view hides nothing.
func ExpressionText(stored json.RawMessage) string {
	var snapshot struct{ Where json.RawMessage }
	if json.Unmarshal(stored, &snapshot) == nil {
		if where, err := query.ParseJSON(snapshot.Where); err == nil {
			return where.String()
		}
	}
	return OrDash(string(stored))
}

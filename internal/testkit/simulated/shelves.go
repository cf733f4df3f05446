package simulated

import "github.com/patra-ingest/patra/internal/upsim"

// Shelves is a list that is given shelf by shelf only: the partitions of a source file.
func Shelves() Form {
	values := ""
	for i, name := range upsim.ShelfNames() {
		if i > 0 {
			values += ", "
		}
		values += name
	}
	return Form{
		Name: "shelves", path: "shelves", window: inQuery + "\n  token: ${page.token}\n  shelf: ${partition.shelf}",
		paging: "type: TOKEN\nuniqueTokens: true\nexpectTotal: true", answer: wholeItems + "\nnextToken: $.next",
		more: "partitions: {shelf: {values: [" + values + "], inItem: $.shelf}}",
	}
}

package upsim

import (
	"bytes"
	"encoding/csv"
	"strconv"
)

const typeCSV = "text/csv"

// csvForm returns a list in CSV, by offset. Nothing tells its end but a short
// page; one without works is the header alone.
func csvForm() form { return form{name: "csv", how: byOffset, csv: true} }

// encodeRows writes works as CSV.
func encodeRows(items []formItem) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	_ = w.Write([]string{"id", "updated", "title", "version"}) // a bytes.Buffer takes everything
	for _, it := range items {
		_ = w.Write([]string{it.ID, it.Updated, it.Title, strconv.Itoa(it.Version)})
	}
	w.Flush()
	return out.Bytes()
}

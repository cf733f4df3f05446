package simulated

import "fmt"

// Files gives a source file for works that lie in files, plain and packed. The listing says how
// many lines each has, and since when it is as it is.
func Files() []Form {
	return []Form{filesForm("files", "NONE"), filesForm("files-gzip", "GZIP")}
}

func filesForm(name, packed string) Form {
	return Form{Name: name, endpoints: fmt.Sprintf(`endpoints:
  %s:
    role: FILE
    files: {listing: index, every: P1D, packed: %s}
    response: {format: JSONL, items: $, id: $.id, updatedAt: $.updated, version: $.version, fields: {title: $.title}, required: [title]}
  index:
    role: LISTING
    request: {path: /forms/%s}
    paging: {type: ONE}
    response: {items: $.files, id: $.name, updatedAt: $.date, fields: {address: $.url, lines: $.lines}}
`, Endpoint, packed, name)}
}

package simulated

// CSV is a list in rows, by offset, whose end is a short page.
func CSV() Form {
	return Form{Name: "csv", path: "csv", window: inQuery + "\n  offset: ${page.offset}", paging: "type: OFFSET\nstable: true", answer: csvRows}
}

const csvRows = `
format: CSV
items: $
id: $.id
updatedAt: $.updated
filtered: $.updated
version: $.version
fields: {title: $.title}
required: [title]`

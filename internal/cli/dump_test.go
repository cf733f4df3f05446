package cli

import (
	"database/sql"
	"fmt"
	"strings"
)

// db goes round the store.
func (d *desk) db() *sql.DB {
	d.Helper()
	db, err := sql.Open("sqlite", d.file)
	if err != nil {
		d.Fatal(err)
	}
	return db
}

func (d *desk) exec(query string, args ...any) {
	d.Helper()
	db := d.db()
	defer db.Close()
	result, err := db.Exec(query, args...)
	if err != nil {
		d.Fatal(err)
	}
	if n, _ := result.RowsAffected(); n != 1 {
		d.Fatalf("%s: %d rows", query, n)
	}
}

// dump is every row of every table as text.
func (d *desk) dump() string {
	d.Helper()
	db := d.db()
	defer db.Close()
	var out strings.Builder
	for _, name := range d.column(db, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
		fmt.Fprintln(&out, name)
		rows, err := db.Query("SELECT * FROM " + name)
		if err != nil {
			d.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			d.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			targets := make([]any, len(columns))
			for i := range values {
				targets[i] = &values[i]
			}
			if err := rows.Scan(targets...); err != nil {
				d.Fatal(err)
			}
			fmt.Fprintln(&out, values...)
		}
		if err := rows.Err(); err != nil {
			d.Fatal(err)
		}
	}
	return out.String()
}

func (d *desk) column(db *sql.DB, query string) (out []string) {
	d.Helper()
	rows, err := db.Query(query)
	if err != nil {
		d.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			d.Fatal(err)
		}
		out = append(out, text)
	}
	return out
}

// writesNothing runs a command and compares all rows before and after.
func (d *desk) writesNothing(args ...string) result {
	d.Helper()
	before := d.dump()
	r := d.run(args...)
	if after := d.dump(); after != before {
		d.Errorf("patra %s changed the database", strings.Join(args, " "))
	}
	return r
}

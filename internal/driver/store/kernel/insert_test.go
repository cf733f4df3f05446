package kernel_test

import (
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

func TestNewIDsByEitherWay(t *testing.T) {
	for _, returning := range []string{"", " RETURNING id"} {
		db := open(t, kernel.Options{})
		db.Dialect.Returning = returning
		err := db.Step(t.Context(), "test step", kernel.Bulk, func(tx *kernel.Tx) error {
			if _, err := tx.Exec("CREATE TABLE pets (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)"); err != nil {
				return err
			}
			for want := int64(1); want <= 3; want++ {
				if id, err := tx.Insert("INSERT INTO pets (name) VALUES (?)", "cat"); err != nil || id != want {
					t.Errorf("%q: id %d, want %d (%v)", returning, id, want, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestRowsWithValuesInCommon(t *testing.T) {
	for _, numbered := range []bool{true, false} {
		for _, rows := range []int{0, 1, 9, 10, 123} {
			db := open(t, kernel.Options{})
			db.Dialect.NumberedArgs = numbered
			err := db.Step(t.Context(), "test step", kernel.Bulk, func(tx *kernel.Tx) error {
				if _, err := tx.Exec("CREATE TABLE pets (owner TEXT, born INTEGER, name TEXT, kind TEXT, age INTEGER)"); err != nil {
					return err
				}
				var values []any
				for i := range rows {
					values = append(values, fmt.Sprintf("cat %d", i), i)
				}
				shared := []any{"Ann", 2020}
				if err := tx.InsertRows("pets", "owner, born, name, kind, age", "?,'cat',?", shared, values); err != nil {
					return err
				}
				if err := tx.InsertRows("pets", "name, age, kind", "?,?,'dog'", nil, []any{"Rex", 7}); err != nil {
					return err
				}
				for query, want := range map[string]int{
					"SELECT COUNT(*) FROM pets WHERE owner = 'Ann' AND born = 2020 AND kind = 'cat' AND name = 'cat ' || age": rows,
					"SELECT COUNT(DISTINCT age) FROM pets WHERE kind = 'cat'":                                                 rows,
					"SELECT COUNT(*) FROM pets WHERE kind = 'dog' AND name = 'Rex' AND age = 7":                               1,
				} {
					var got int
					if err := tx.Row(query).Scan(&got); err != nil || got != want {
						t.Errorf("numbered %v, %d rows: %s gives %d, want %d (%v)", numbered, rows, query, got, want, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

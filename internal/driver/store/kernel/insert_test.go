package kernel_test

import (
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

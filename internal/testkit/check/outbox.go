package check

import (
	"context"
	"database/sql"
	"fmt"
)

// checkOutbox is I9: bodies and events belong together one to one, and the events of a
// record stand in the order of its versions. The rows are joined here: a server
// without an index on body_id would compare each with each.
func checkOutbox(ctx context.Context, db *sql.DB) (problems []string, err error) {
	type event struct{ id, version int64 }
	events := map[int64]event{} // by body
	keys := map[string]bool{}
	twice, sameKey := 0, 0
	err = eachRow(ctx, db, "SELECT id, COALESCE(body_id, 0), COALESCE(record_version, 0), dedup_key FROM ing_outbox_message ORDER BY id", func(scan func(...any) error) error {
		var e event
		var body int64
		var key []byte
		err := scan(&e.id, &body, &e.version, &key)
		if keys[string(key)] {
			sameKey++
		}
		keys[string(key)] = true
		if _, known := events[body]; known {
			twice++
		}
		events[body] = e
		return err
	})
	if err != nil {
		return nil, err
	}
	bodies := map[int64]bool{}
	silent, disorder := 0, 0
	versions, err := readVersions(ctx, db)
	if err != nil {
		return nil, err
	}
	for _, v := range versions {
		bodies[v.id] = true
		own, told := events[v.id]
		if !told {
			silent++
		}
		if older, ok := events[v.before]; ok && told && (older.id >= own.id || older.version >= own.version) {
			disorder++
		}
	}
	orphans := 0
	for body := range events {
		if !bodies[body] {
			orphans++
		}
	}
	for _, c := range []struct {
		rule string
		n    int
	}{
		{"a body without its event", silent}, {"an event without its body", orphans}, {"a body with two events", twice}, {"two events of one version", sameKey}, {"events of a record are out of order", disorder},
	} {
		if c.n > 0 {
			problems = append(problems, fmt.Sprintf("I9: %s: %d rows", c.rule, c.n))
		}
	}
	return problems, nil
}

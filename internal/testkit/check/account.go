package check

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// account is the part of stats that I4 speaks of.
type account struct {
	Seen, Inserted, Updated, Unchanged, Gone, Stale, Duplicate, Outside, Excluded, Quarantined int
}

func (a account) isBalanced() bool {
	return a.Seen == a.Inserted+a.Updated+a.Unchanged+a.Gone+a.Stale+a.Duplicate+a.Outside+a.Excluded+a.Quarantined
}

func (a account) addAccount(b account) account {
	return account{
		a.Seen + b.Seen, a.Inserted + b.Inserted, a.Updated + b.Updated, a.Unchanged + b.Unchanged, a.Gone + b.Gone,
		a.Stale + b.Stale, a.Duplicate + b.Duplicate, a.Outside + b.Outside, a.Excluded + b.Excluded, a.Quarantined + b.Quarantined,
	}
}

// checkAccounting is I4: each batch adds up, each run is the sum of its batches, and
// the bodies are the inserts, updates and removals.
func checkAccounting(ctx context.Context, db *sql.DB) (problems []string, err error) {
	sums := map[int64]account{}
	var total account
	err = eachRow(ctx, db, "SELECT run_id, id, stats FROM ing_task_run_batch WHERE status_code = 'SUCCEEDED'", func(scan func(...any) error) error {
		var run, id int64
		var text string
		var a account
		if err := scan(&run, &id, &text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			return err
		}
		if !a.isBalanced() {
			problems = append(problems, fmt.Sprintf("I4: batch %d does not add up: %+v", id, a))
		}
		sums[run], total = sums[run].addAccount(a), total.addAccount(a)
		return nil
	})
	if err != nil {
		return problems, err
	}
	err = eachRow(ctx, db, "SELECT id, COALESCE(stats, '{}') FROM ing_task_run", func(scan func(...any) error) error {
		var id int64
		var text string
		var a account
		if err := scan(&id, &text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			return err
		}
		if a != sums[id] {
			problems = append(problems, fmt.Sprintf("I4: run %d says %+v, its batches %+v", id, a, sums[id]))
		}
		return nil
	})
	if err != nil {
		return problems, err
	}
	versions, err := readVersions(ctx, db)
	if err != nil {
		return problems, err
	}
	if changes := total.Inserted + total.Updated + total.Gone; changes != len(versions) {
		problems = append(problems, fmt.Sprintf("I4: batches count %d changes, %d bodies are stored", changes, len(versions)))
	}
	return problems, nil
}

package ledger

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// coolDown keeps all processes from a partition until the wait of its task is over
// (I11), and where the upstream itself asked for it, from everything that is
// counted under its rate key. A quota or the hours of one operation say nothing
// of the others.
func (t *tx) coolDown(in ingest.Finish, until time.Time) error {
	why := in.Outcome.Waits
	if why == "" {
		why = gate.Cooling
	}
	if in.Outcome.Alone {
		return nil
	}
	_, err := t.Exec(`UPDATE ing_partition SET cooling_until = ?, cooling_code = ? WHERE id = (SELECT partition_id FROM ing_task WHERE id = ?)
  AND (cooling_until IS NULL OR cooling_until < ?)`, kernel.Micros(until), string(why), in.Lease.TaskID, kernel.Micros(until))
	if err != nil || why != gate.Cooling || in.Outcome.RateKey == "" {
		return err
	}
	return t.coolKey(in.Outcome.RateKey, until)
}

// coolKey notes until when nothing of a key may leave. A shorter wait does not end
// a longer one.
func (t *tx) coolKey(key string, until time.Time) error {
	var was int64
	known, err := kernel.Found(t.Row(coolingSQL+t.Dialect().ForUpdate, key).Scan(&was))
	switch {
	case err != nil:
		return err
	case !known: // who comes second finds the row when the step is redone
		_, err = t.Exec("INSERT INTO ing_rate_pause (rate_key, until, updated_at) VALUES (?,?,?)", key, kernel.Micros(until), kernel.Micros(t.Now))
		return err
	}
	_, err = t.Exec("UPDATE ing_rate_pause SET until = ?, updated_at = ? WHERE rate_key = ? AND until < ?", kernel.Micros(until), kernel.Micros(t.Now), key, kernel.Micros(until))
	return err
}

package registry

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// ApplySource writes a version of a source: from o.From on the source is as src
// says (D§5.18), until the next version begins that is scheduled already, or for
// ever. A version that says what holds at From anyhow writes nothing, neither
// rows nor log, and leaves the schedule alone: who applies a file every night
// undoes nobody's plans. Else, rows that say the same are left alone. For the
// others:
//
//   - A row in force before From ends at From, and its successor begins there.
//   - A row that was to begin at From never begins: it is RETIRED, with its dates
//     as they were. So a version at the instant of a scheduled one replaces it.
//   - A version that begins later stays as it is, whole: a row that it shares with
//     a version before it begins anew there.
//   - With o.CancelScheduled the versions that begin later are retired instead.
//   - The past is not rewritten: a From before now is refused.
//   - With o.Over a source that is not what the change was made from is left alone.
//
// The time of a source does not run backwards. If the clock was set back, now is
// when the source was last applied.
func (s *Registry) ApplySource(ctx context.Context, src *registry.Source, o registry.ApplyOptions) (done registry.Applied, err error) {
	wanted := registry.Rows(src)
	err = s.step(ctx, "apply source", kernel.Bulk, func(t *tx) (err error) {
		done, err = t.applySource(src, wanted, o)
		return err
	})
	return done, err
}

func (t *tx) applySource(src *registry.Source, wanted []registry.Row, o registry.ApplyOptions) (registry.Applied, error) {
	p, err := t.readProvenance(src.Code)
	if err != nil {
		return registry.Applied{}, err
	}
	done := registry.Applied{From: p.now}
	if !o.From.IsZero() {
		done.From = o.From.UTC().Truncate(time.Microsecond)
	}
	stored, err := t.openRows(p)
	if err != nil {
		return done, err
	}
	line := timeline{rows: stored, now: p.now, at: done.From}
	if !o.CancelScheduled {
		line.until = line.nextVersion()
	}
	if line.holdsSource(src) {
		return done, nil // also what was done by this very call, whose answer was lost
	}
	if err := line.checkOver(src.Code, o.Over); err != nil {
		return done, err
	}
	if done.From.Before(p.now) {
		return done, fmt.Errorf("%w: effective from %s lies in the past (now is %s): what was in force then cannot be changed; leave it out, or name a later instant",
			fault.ErrInvalid, done.From.Format(time.RFC3339Nano), p.now.Format(time.RFC3339Nano))
	}
	if err := t.writeProvenance(&p, src.Code); err != nil {
		return done, err
	}
	change := line.planTurn(wanted)
	done.Rows, done.Superseded = change.countChanges(), change.countSuperseded()
	if err := t.rewriteRows(p, change, line); err != nil {
		return done, err
	}
	if err := t.renoteNext(p, line, src, wanted); err != nil {
		return done, err
	}
	if !done.From.After(p.now) && change.touchesTable(registry.RateTable) {
		if err := t.reckonWaits(src); err != nil {
			return done, err
		}
	}
	note := versionNote{src: src, before: line.rowsBefore(), wanted: wanted, change: change, rows: done.Rows, options: o}
	if change.newVersion {
		if err := t.insertVersion(p, note, line); err != nil {
			return done, err
		}
	}
	return done, t.Audit(kernel.AuditEntry{
		At: p.now, Actor: actorOf(o), Action: "source.apply", Object: "source/" + src.Code, Reason: o.Reason,
		Detail: map[string]any{
			"effectiveFrom": done.From.Format(time.RFC3339Nano), "rows": done.Rows, "superseded": done.Superseded, "cancelScheduled": o.CancelScheduled,
			"fingerprint": note.settingsFingerprint(), "version": p.version,
		},
	})
}

func actorOf(o registry.ApplyOptions) string {
	if o.Actor == "" {
		return "unknown"
	}
	return o.Actor
}

// versionNote is what a version says about itself.
type versionNote struct {
	src     *registry.Source
	before  []storedRow // in force just before it
	wanted  []registry.Row
	change  versionChange
	rows    int
	options registry.ApplyOptions
}

// settingsFingerprint returns a fingerprint of what is stored: equal settings have
// equal fingerprints.
func (n versionNote) settingsFingerprint() string {
	parts := []string{}
	for _, row := range n.wanted {
		parts = append(parts, row.Table, row.Endpoint, row.Operation, row.Key)
		for _, name := range registry.RowColumns(row.Table) {
			parts = append(parts, name, plainText(row.Columns[name]))
		}
	}
	return fingerprint.Key(parts...)
}

func (n versionNote) changesText() (string, error) {
	old, err := sourceOf(n.before)
	if err != nil {
		old = nil // what cannot be read any more counts as absent
	}
	return changesText(n.change.changedTables(), old, n.src)
}

// changesText lists tables and paths. Values are not repeated: they are in the rows.
func changesText(tables []string, old, src *registry.Source) (string, error) {
	list := changedJSON{Tables: tables, Paths: []string{}}
	for _, c := range registry.Diff(old, src) {
		list.Paths = append(list.Paths, c.Path)
	}
	text, err := json.Marshal(list)
	return string(text), err
}

type changedJSON struct {
	Tables []string `json:"tables"`
	Paths  []string `json:"paths"`
}

// AppliedSources lists the codes of sources that are in force now, with the
// begin of their version.
func (s *Registry) AppliedSources(ctx context.Context) (map[string]time.Time, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, `SELECT p.provenance_code, v.effective_from FROM reg_provenance p JOIN reg_provenance_version v ON v.provenance_id = p.id
  WHERE p.is_active = 1 AND v.active_1 = 'Y'
  AND v.effective_from <= CASE WHEN p.updated_at > ? THEN p.updated_at ELSE ? END
  AND (v.effective_to IS NULL OR v.effective_to > CASE WHEN p.updated_at > ? THEN p.updated_at ELSE ? END)`, kernel.Micros(now), kernel.Micros(now), kernel.Micros(now), kernel.Micros(now))
	if err != nil {
		return nil, kernel.Wrap("list sources", s.db.Translate(err))
	}
	out := map[string]time.Time{}
	return out, kernel.Wrap("list sources", kernel.Each(rows, func() error {
		var code string
		var at sql.NullInt64
		err := rows.Scan(&code, &at)
		out[code] = kernel.Instant(at)
		return err
	}))
}

package quarantine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// exportedAtOnce is how many items are read together, at most: the store bounds their
// bytes.
const exportedAtOnce = 2000

// rejectExport is what an export wrote.
type rejectExport struct {
	File  string `json:"file"`
	Items int    `json:"items"`
}

func newQuarantineExport(e *term.Env) *cobra.Command {
	var n narrowing
	var status, out string
	var force bool
	c := &cobra.Command{
		Use:   "export SRC",
		Short: "Write rejected items into a file, one JSON object a line",
		Long: `Write rejected items of a source into a file, one JSON object a line: reason, place,
where each came from, and the item as the upstream sent it, not masked. Without
--status items in every state are written. The file appears when it is whole.`,
		Example: `  patra quarantine export crossref --out rejects.jsonl
  patra quarantine export crossref --status OPEN --code BAD_UPDATED_AT --out dates.jsonl --force`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return term.Usagef("--out is needed: the file to write")
			}
			if err := errors.Join(n.check(), checkRejectStatus(&status)); err != nil {
				return err
			}
			return e.ReadSource(cmd.Context(), args[0], func(app *daemon.App) error {
				f := view.RejectFilter{Source: args[0], Endpoint: n.endpoint, Reason: n.code, Path: n.path, BatchID: n.batch, Status: status, Limit: exportedAtOnce, WithItem: true}
				items, err := exportRejects(cmd.Context(), app, f, out, force)
				if err != nil {
					return err
				}
				return term.PrintFacts(e, rejectExport{out, items}, []term.Fact{{"file", out}, {"items", items}})
			})
		},
	}
	n.flags(c)
	c.Flags().StringVar(&status, "status", "", "only with this status: "+strings.Join(rejectStates(), ", "))
	c.Flags().StringVar(&out, "out", "", "file to write")
	c.Flags().BoolVar(&force, "force", false, "write over a file that exists")
	return c
}

// exportRejects writes beside the file and renames at the end: nobody ever finds a
// part of it, and a file that exists is not lost to an export that fails.
func exportRejects(ctx context.Context, app *daemon.App, f view.RejectFilter, path string, force bool) (items int, err error) {
	if _, err := os.Lstat(path); err == nil && !force {
		return 0, fmt.Errorf("%w: %s exists: --force writes over it", fault.ErrConflict, path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".quarantine-*")
	if err != nil {
		return 0, fmt.Errorf("export: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	items, err = writeRejects(ctx, app, f, file)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return items, fmt.Errorf("export: %w", err)
	}
	return items, os.Rename(file.Name(), path)
}

func writeRejects(ctx context.Context, app *daemon.App, f view.RejectFilter, file *os.File) (items int, err error) {
	out := bufio.NewWriter(file)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for {
		rows, err := app.Quarantine.List(ctx, f)
		if err != nil {
			return items, err
		}
		for _, r := range rows {
			if err := lines.Encode(r.WithItem()); err != nil {
				return items, err
			}
			f.After, items = r.ID, items+1
		}
		if len(rows) == 0 {
			return items, out.Flush()
		}
	}
}

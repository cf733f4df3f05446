package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/daemon"
)

// rawKeeping are the flags of commands that keep the bodies of answers.
type rawKeeping struct {
	off            bool
	dir, keep, max string
}

func (r *rawKeeping) flags(c *cobra.Command) {
	rawDirFlag(c, &r.dir)
	c.Flags().BoolVar(&r.off, "no-raw", false, "do not keep the bodies of answers")
	c.Flags().StringVar(&r.keep, "raw-keep", fmt.Sprintf("%dd", rawDays), "how long bodies of answers are kept")
	c.Flags().StringVar(&r.max, "raw-max", size(daemon.RawMaxBytes), "room for bodies of answers, compressed; the oldest go first")
}

// rawDirFlag is also for commands that read bodies.
func rawDirFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "raw-dir", "", "folder of bodies of answers (default PATRA_RAW_DIR, else FILE.raw beside the SQLite file)")
}

func rawDir(flag string) string {
	if flag != "" {
		return flag
	}
	return envOr("PATRA_RAW_DIR", "")
}

// notice says once that the database is new, and that bodies are not kept.
func (e *env) notice(app *daemon.App) {
	e.hintNew(app)
	if text := app.Bodies.Notice(); text != "" {
		e.hint("%s", text)
	}
}

func (r rawKeeping) config() (daemon.RawConfig, error) {
	keep, err := parseStretch(r.keep)
	if err != nil {
		return daemon.RawConfig{}, usagef("--raw-keep: %v", err)
	}
	most, err := parseSize(r.max)
	if err != nil {
		return daemon.RawConfig{}, usagef("--raw-max: %v", err)
	}
	if keep == 0 || most == 0 {
		return daemon.RawConfig{}, usagef("--raw-keep and --raw-max must be more than nothing; to keep no bodies, say --no-raw")
	}
	return daemon.RawConfig{Off: r.off, Dir: rawDir(r.dir), KeepFor: keep, MaxBytes: most}, nil
}

const rawDays = daemon.RawKeepFor / (24 * time.Hour)

// Units of sizes, as disks are sold.
var sizeUnits = []struct {
	name  string
	bytes float64
}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}

// parseSize reads 10GB, 500 MB or a number of bytes.
func parseSize(text string) (int64, error) {
	number, unit := strings.ToUpper(strings.ReplaceAll(text, " ", "")), 1.0
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = rest, u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if bytes := n * unit; err == nil && bytes >= 0 && bytes < math.MaxInt64 {
		return int64(bytes), nil
	}
	return 0, fmt.Errorf("size %q: expected a number with B, KB, MB, GB or TB, such as 500MB", text)
}

// size writes a number of bytes for people.
func size(bytes int64) string {
	for _, u := range sizeUnits {
		if n := float64(bytes) / u.bytes; n >= 1 {
			if n >= 10 {
				return fmt.Sprintf("%.0f%s", n, u.name)
			}
			return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0") + u.name
		}
	}
	return "0B"
}

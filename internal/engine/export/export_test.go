package export

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
)

var noon = time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC)

// pages is a store that hands out rows, so many at once.
type pages struct {
	rows  []export.Row
	took  time.Duration
	fails error // on the second page
	lost  int64 // records that heads know of and no page has
	asked export.Range
}

func (p *pages) ExportMark(context.Context, string, string, time.Duration) (export.Mark, error) {
	return export.Mark{DatasetID: 1, Batch: 9, Body: 9 << 20, FetchedAt: 1, At: noon}, nil
}

func (p *pages) CheckCursor(_ context.Context, c export.Cursor, m export.Mark) error {
	if c.Batch > m.Batch {
		return export.Conflict("ahead")
	}
	return nil
}

func (p *pages) ExportPage(_ context.Context, in export.Range, after int64, use func(*export.Row) error) (int64, bool, error) {
	if p.asked = in; p.fails != nil && after > 0 {
		return after, false, p.fails
	}
	for n := int(after); n < len(p.rows); n++ {
		if n == int(after)+2 {
			return int64(n), false, nil
		}
		if err := use(&p.rows[n]); err != nil {
			return 0, false, err
		}
	}
	return 0, true, nil
}

func (p *pages) CountExported(context.Context, export.Range) (int64, error) {
	return int64(len(p.rows)) + p.lost, nil
}

func (p *pages) MappingHashes(_ context.Context, ids []int64) (out []string, _ error) {
	for _, id := range ids {
		out = append(out, fmt.Sprint("mapping ", id))
	}
	return out, nil
}

func (p *pages) Now(context.Context) (time.Time, error) { return noon.Add(p.took), nil }

// memory keeps files, and what was done in which order.
type memory struct {
	files map[string]string
	steps []string
	full  error
}

func (m *memory) Append(name string, lines []byte) error {
	if m.files == nil {
		m.files = map[string]string{}
	}
	m.files[name] += string(lines)
	return m.full
}

func (m *memory) Seal() (map[string]export.Sealed, error) {
	m.steps = append(m.steps, "seal")
	out := map[string]export.Sealed{}
	for name, text := range m.files {
		out[name] = export.Sealed{Bytes: int64(len(text)), SHA256: "sum of " + name}
	}
	return out, nil
}

func (m *memory) Finish(text []byte) error {
	m.steps = append(m.steps, "finish")
	_, err := export.ParseManifest(text)
	return err
}

func rows(n int) (out []export.Row) {
	for i := range n {
		out = append(out, export.Row{Body: int64(i+1) << 20, Batch: int64(i + 1), ID: fmt.Append(nil, "id-", i), Version: 1, Gone: i%3 == 2, UpdatedAt: noon.AddDate(0, i/2, 0), FetchedAt: noon, MappingID: int64(1 + i/4)})
	}
	return out
}

func order() export.Order {
	return export.Order{Source: "s", Endpoint: "e", Form: export.Form{Format: export.JSONL}, States: export.All}
}

func TestAnExportIsSharedOutAndCounted(t *testing.T) {
	from, to := &pages{rows: rows(7)}, &memory{}
	o := order()
	o.Cut = export.ByMonth
	var told []Progress
	m, err := New(from, "v1").Run(t.Context(), o, to, func(p Progress) { told = append(told, p) })
	if err != nil {
		t.Fatal(err)
	}
	if m.Records != 7 || m.Gone != 2 || len(m.Files) != 4 || m.Files[0].Name != "records-2025-03.jsonl" || m.Files[3].Records != 1 || m.Program != "v1" {
		t.Errorf("%+v", m)
	}
	if fmt.Sprint(m.Mappings) != "[mapping 1 mapping 2]" || m.Batches != (export.Span{First: 1, Last: 7}) || !m.StartedAt.Equal(noon) {
		t.Errorf("%+v", m)
	}
	if fmt.Sprint(to.steps) != "[seal finish]" {
		t.Errorf("%v: the manifest comes last", to.steps)
	}
	if n := len(told); n != 4 || told[n-1] != (Progress{7, 1}) {
		t.Errorf("%+v", told)
	}
	cursor, err := export.ParseCursor(m.Cursor)
	if err != nil || cursor.Batch != 9 {
		t.Errorf("%+v, %v", cursor, err)
	}
}

func TestOnlyWhatIsWanted(t *testing.T) {
	for states, want := range map[export.States]int64{export.All: 7, export.Active: 5, export.Gone: 2} {
		o := order()
		o.States = states
		m, err := New(&pages{rows: rows(7)}, "").Run(t.Context(), o, &memory{}, nil)
		if err != nil || m.Records != want || len(m.Files) != 1 {
			t.Errorf("%s: %+v, %v", states, m, err)
		}
	}
	from := &pages{}
	o := order()
	o.Since, o.Form = &export.Cursor{Source: "s", Endpoint: "e", Batch: 4}, export.Form{Format: export.CSV, Payload: true}
	to := &memory{}
	m, err := New(from, "").Run(t.Context(), o, to, nil)
	if err != nil || from.asked.After != 4 || from.asked.Upto != 9 || !from.asked.Payload || m.Since != o.Since.String() {
		t.Errorf("%+v, %v", from.asked, err)
	}
	if len(m.Files) != 1 || to.files["records.csv"] == "" {
		t.Errorf("%v: an export without records has a header", to.files)
	}
	o.Since.Batch = 10
	if _, err := New(from, "").Run(t.Context(), o, to, nil); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("a cursor that does not fit: %v", err)
	}
}

func TestWhatFailsHasNoManifest(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		from *pages
		to   *memory
		want error
	}{
		"the store fails":    {&pages{rows: rows(7), fails: broken}, &memory{}, broken},
		"the disk is full":   {&pages{rows: rows(7)}, &memory{full: broken}, broken},
		"records are lost":   {&pages{rows: rows(7), lost: 1}, &memory{}, fault.ErrDamaged},
		"it took a day":      {&pages{rows: rows(7), took: 24 * time.Hour}, &memory{}, fault.ErrConflict},
		"fields are damaged": {&pages{rows: []export.Row{{ID: []byte("x"), Fields: []byte("[")}}}, &memory{}, fault.ErrInvalid},
	} {
		o := order()
		o.Form.Fields = []string{"a"}
		_, err := New(c.from, "").Run(t.Context(), o, c.to, nil)
		if !errors.Is(err, c.want) || len(c.to.steps) > 0 {
			t.Errorf("%s: %v, steps %v", name, err, c.to.steps)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to := &memory{}
	if _, err := New(&pages{rows: rows(7)}, "").Run(ctx, order(), to, nil); !errors.Is(err, context.Canceled) || len(to.steps) > 0 {
		t.Errorf("interrupted: %v, %v", err, to.steps)
	}
}

// A source decides about its dates, so it must not decide how many files there are.
func TestTooManyFilesAreRefused(t *testing.T) {
	from := &pages{}
	for i := range mostFiles + 1 {
		from.rows = append(from.rows, export.Row{Body: 1 << 20, Batch: 1, ID: []byte("x"), UpdatedAt: noon.AddDate(0, 0, -i)})
	}
	o := order()
	o.Cut = export.ByDay
	if _, err := New(from, "").Run(t.Context(), o, &memory{}, nil); !errors.Is(err, fault.ErrInvalid) {
		t.Error(err)
	}
}

// Lines that fill several blocks are written whole and in their order, of one page and of
// the next, to one file and to several.
func TestBlocksOfLinesKeepTheirOrder(t *testing.T) {
	for _, cut := range []export.Cut{export.Whole, export.ByDay} {
		order := export.Order{Form: export.Form{Format: export.JSONL}, Cut: cut}
		to := &memory{}
		l, want, lines := newLineSink(order, to), map[string][]byte{}, export.NewLines(order.Form)
		for page := range 3 {
			for i := range 3 * blockBytes / 10_000 {
				row := &export.Row{
					Body: int64(i), ID: fmt.Appendf(nil, "%d-%d", page, i), UpdatedAt: noon.AddDate(0, 0, i%2),
					Fields: fmt.Appendf(nil, `{"text":"%0*d"}`, 10_000+i, i),
				}
				if err := l.take(row); err != nil {
					t.Fatal(err)
				}
				name := order.FileOf(cut.Part(row.UpdatedAt))
				var err error
				if want[name], err = lines.Append(want[name], row); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.flush(); err != nil {
				t.Fatal(err)
			}
		}
		if len(to.files) != len(want) {
			t.Errorf("%d files, want %d", len(to.files), len(want))
		}
		for name := range want {
			if to.files[name] != string(want[name]) {
				t.Errorf("%s: %d bytes, want %d, or another order", name, len(to.files[name]), len(want[name]))
			}
		}
	}
}

package bench

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// The rival is the least that anybody would write who wants works by their id: a loop
// that finds items by looking at bytes, decodes nothing, and upserts them as they are
// into one table, with synchronous=NORMAL, a transaction a page. No ledger, no events, no
// hash, no kept answers. It writes row by row, and once more with 100 rows a statement,
// which few would write and nothing is faster than. It runs as a process of its own, as the program does, so that processor time
// and memory are those of each alone.

// rivalEnv tells this test binary to be the rival: kind of database, where it is, rows of
// a statement (none: it is the floor), and where the source is.
const rivalEnv = "PATRA_BENCH_RIVAL"

func TestMain(m *testing.M) {
	if order := os.Getenv(rivalEnv); order != "" {
		if err := runRival(order); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runRival reads all days that it is told, as many at once as the program does.
func runRival(order string) error {
	var kind, source, day string
	var target database
	var rows, count int
	if _, err := fmt.Sscan(order, &kind, &target.address, &target.path, &rows, &source, &day, &count); err != nil {
		return fmt.Errorf("%s: %w", rivalEnv, err)
	}
	first, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return err
	}
	if target.path == "-" {
		target.path = ""
	}
	synchronous := "NORMAL"
	if rows == 0 {
		synchronous = "FULL" // as the program has it
	}
	db, err := target.openBare(synchronous)
	if err != nil {
		return err
	}
	defer db.Close()
	if target.path != "" {
		db.SetMaxOpenConns(1)
	} else {
		db.SetMaxIdleConns(fetchers)
	}
	keep, err := keeperOf(db, kind, rows)
	if err != nil {
		return err
	}
	days := make(chan time.Time, count)
	for i := range count {
		days <- first.AddDate(0, 0, i)
	}
	close(days)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: fetchers}}
	failed := make([]error, fetchers)
	var group sync.WaitGroup
	for i := range fetchers {
		group.Go(func() {
			for day := range days {
				if failed[i] == nil {
					failed[i] = readDay(client, source, day, keep)
				}
			}
		})
	}
	group.Wait()
	return errors.Join(failed...)
}

// keepPage stores a page, or what was found in it.
type keepPage func(page []byte, items []scanned) error

func keeperOf(db *sql.DB, kind string, rows int) (keepPage, error) {
	if rows == 0 {
		f, err := newFloor(db)
		if err != nil {
			return nil, err
		}
		return f.keep, nil
	}
	r, err := newRival(db, kind, rows)
	if err != nil {
		return nil, err
	}
	return func(_ []byte, items []scanned) error { return r.upsert(items) }, nil
}

// rival writes rows by id.
type rival struct {
	db        *sql.DB
	rows      int // of a statement
	many, one *sql.Stmt
}

func newRival(db *sql.DB, kind string, rows int) (*rival, error) {
	table, upsert := "CREATE TABLE IF NOT EXISTS works (id TEXT PRIMARY KEY, payload BLOB)", " ON CONFLICT (id) DO UPDATE SET payload = excluded.payload"
	if kind == "MariaDB" {
		table, upsert = "CREATE TABLE IF NOT EXISTS works (id VARBINARY(1024) PRIMARY KEY, payload LONGBLOB)", " ON DUPLICATE KEY UPDATE payload = VALUES(payload)"
	}
	if _, err := db.Exec(table); err != nil {
		return nil, err
	}
	many, err := db.Prepare("INSERT INTO works (id, payload) VALUES (?,?)" + strings.Repeat(",(?,?)", rows-1) + upsert)
	if err != nil {
		return nil, err
	}
	one, err := db.Prepare("INSERT INTO works (id, payload) VALUES (?,?)" + upsert)
	return &rival{db, rows, many, one}, err
}

func readDay(client *http.Client, base string, day time.Time, keep keepPage) error {
	cursor, stored := "*", 0
	var body bytes.Buffer
	for {
		if err := fetchPage(client, base, day, cursor, &body); err != nil {
			return err
		}
		page, err := scanPage(body.Bytes())
		if err != nil {
			return err
		}
		if err := keep(body.Bytes(), page.items); err != nil {
			return err
		}
		if stored += len(page.items); stored >= page.total {
			return nil
		}
		cursor = page.next
	}
}

func fetchPage(client *http.Client, base string, day time.Time, cursor string, into *bytes.Buffer) error {
	text := day.Format(time.DateOnly)
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
		fmt.Sprintf("%s/works?rows=%d&cursor=%s&filter=from-index-date:%s,until-index-date:%s", base, pageSize, cursor, text, text), nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	into.Reset()
	into.Grow(int(max(answer.ContentLength, 0)) + bytes.MinRead)
	_, err = io.Copy(into, answer.Body)
	return err
}

func (r *rival) upsert(items []scanned) error {
	tx, err := r.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit this does nothing
	many, one := tx.Stmt(r.many), tx.Stmt(r.one)
	args := make([]any, 0, 2*r.rows)
	for len(items) > 0 {
		n, stmt := r.rows, many
		if len(items) < n {
			n, stmt = 1, one
		}
		args = args[:0]
		for _, item := range items[:n] {
			args = append(args, string(item.id), item.raw)
		}
		if _, err := stmt.Exec(args...); err != nil {
			return err
		}
		items = items[n:]
	}
	return tx.Commit()
}

// scannedPage is what looking at bytes finds in a page.
type scannedPage struct {
	items []scanned
	total int
	next  string
}

// scanned is an item as it lies in the page.
type scanned struct{ id, raw []byte }

var (
	itemsName = []byte(`"items":[`)
	totalName = []byte(`"total-results":`)
	nextName  = []byte(`"next-cursor":"`)
	idName    = []byte(`DOI`)
)

// scanPage finds the items of a page: it follows brackets and texts, and checks nothing.
func scanPage(page []byte) (out scannedPage, err error) {
	at := bytes.Index(page, itemsName)
	if at < 0 {
		return out, errors.New("the page has no items")
	}
	if n := bytes.Index(page[:at], totalName); n >= 0 {
		for _, c := range page[n+len(totalName) : at] {
			if c < '0' || c > '9' {
				break
			}
			out.total = 10*out.total + int(c-'0')
		}
	}
	if n := bytes.Index(page[:at], nextName); n >= 0 {
		rest := page[n+len(nextName):]
		out.next = string(rest[:bytes.IndexByte(rest, '"')])
	}
	out.items = make([]scanned, 0, pageSize)
	depth, begin := 0, 0
	var id, text []byte
	for i := at + len(itemsName); i < len(page); i++ {
		switch page[i] {
		case '"':
			end := endOfText(page, i+1)
			if depth == 1 {
				if bytes.Equal(text, idName) && page[i-1] == ':' {
					id = page[i+1 : end]
				}
				text = page[i+1 : end]
			}
			i = end
		case '{', '[':
			if depth++; depth == 1 {
				begin, id, text = i, nil, nil
			}
		case '}', ']':
			if depth--; depth < 0 {
				return out, nil
			}
			if depth == 0 {
				out.items = append(out.items, scanned{id, page[begin : i+1]})
			}
		}
	}
	return out, errors.New("the page ends in the middle of its items")
}

// endOfText finds the quote that ends a text.
func endOfText(page []byte, at int) int {
	for {
		n := bytes.IndexByte(page[at:], '"')
		if n < 0 {
			return len(page)
		}
		at += n
		escapes := 0
		for page[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
		at++
	}
}

func TestScanFindsItems(t *testing.T) {
	s := startShaped(t, 1, 700)
	page, err := scanPage(s.pages[firstDay.Format(time.DateOnly)+"/2"])
	if err != nil || len(page.items) != 200 || page.total != 700 || page.next != firstDay.Format(time.DateOnly)+"/3" {
		t.Fatalf("found %d items, total %d, next %q: %v", len(page.items), page.total, page.next, err)
	}
	for i, item := range page.items {
		if !bytes.HasPrefix(item.id, []byte("10.")) || !bytes.HasSuffix(item.id, fmt.Append(nil, ".", pageSize+i)) || item.raw[0] != '{' || item.raw[len(item.raw)-1] != '}' {
			t.Fatalf("item %d has the id %s", i, item.id)
		}
	}
	odd, err := scanPage([]byte(`{"total-results":1,"items":[{"a":{"DOI":"no"},"b":"\\","c":"\"DOI\":","title":["DOI","x"],"DOI":"yes"}]}`))
	if err != nil || len(odd.items) != 1 || string(odd.items[0].id) != "yes" {
		t.Fatalf("%+v %v", odd, err)
	}
}

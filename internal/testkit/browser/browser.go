// Package browser drives a real Chromium over the pages of one process, as a person would,
// and holds what every page must keep: no error in the console, and no request to anybody
// else.
package browser

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/patra-ingest/patra/internal/testkit/need"
)

// Browser is one window of a browser that belongs to one test.
type Browser struct {
	t      testing.TB
	ctx    context.Context // of the window
	origin string
	shots  string          // folder of its pictures, named like the test
	said   map[string]bool // complaints

	mu      sync.Mutex
	wrong   []string        // what no page may do
	refused map[string]bool // addresses that were to be refused, which browsers tell as an error
	closed  chan struct{}   // both readers have seen the last request and the last message
}

// patience bounds each step, so that a test that fails ends.
const patience = time.Minute

// farewell is the last thing a window asks for and says: what came before it was seen.
const farewell = "/healthz?farewell"

// Open starts a browser that looks at the pages of one origin, such as http://127.0.0.1:8750.
// It ends with the test, which fails if a page had an error or asked somebody else.
func Open(t testing.TB, origin string) *Browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		need.Missing(t, "chromium is not installed (Debian: apt install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.Flag("headless", "new"),
		chromedp.WindowSize(1400, 1000), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("enable-blink-features", "ComputedAccessibilityInfo")) // accessible names as the browser computes them
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to start for root otherwise
	}
	// The window ends in Cleanup, when the context of the test has ended.
	alloc, endProgram := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, endWindow := chromedp.NewContext(alloc)
	b := &Browser{t: t, ctx: ctx, origin: origin, shots: pictureFolder(t), closed: make(chan struct{}), refused: map[string]bool{}}
	hangs := time.AfterFunc(patience, endProgram) // the browser would end with a context of its own
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	hangs.Stop()
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	// Chromium draws the ring around what has the focus only in a window that has it itself, and on a busy
	// machine a new window may learn that late.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	b.watch()
	t.Cleanup(func() {
		b.close()
		_ = chromedp.Cancel(ctx)
		endWindow()
		endProgram()
	})
	return b
}

// picturesVariable names the folder that pictures are left in. The artifacts of go test would
// not do: with several packages each one removes what the others left.
const picturesVariable = "PATRA_TEST_PICTURES"

// pictureFolder returns where the pictures of a test go: into a folder named like it.
func pictureFolder(t testing.TB) string {
	name := strings.ReplaceAll(t.Name(), "/", "-")
	if folder := os.Getenv(picturesVariable); folder != "" {
		return filepath.Join(folder, name)
	}
	return filepath.Join(t.ArtifactDir(), name)
}

// watch notes what no page may do, until the farewell was seen.
func (b *Browser) watch() {
	asked, said := chromedp.Events(b.ctx, network.RequestWillBeSent), chromedp.Console(b.ctx)
	var both sync.WaitGroup
	both.Go(func() {
		for e, err := range asked {
			if err != nil || strings.HasSuffix(e.Request.URL, farewell) {
				return
			}
			if !strings.HasPrefix(e.Request.URL, b.origin+"/") {
				b.note("%s asks %s", e.DocumentURL, e.Request.URL)
			}
		}
	})
	both.Go(func() {
		for m, err := range said {
			if err != nil || m.Text == farewell {
				return
			}
			if b.wasToBeRefused(m.URL) {
				continue
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException || m.Type == chromedp.ConsoleWarning {
				b.note("console of %s: %s: %s", m.URL, m.Type, m.Text)
			}
		}
	})
	go func() {
		both.Wait()
		close(b.closed)
	}()
}

func (b *Browser) wasToBeRefused(url string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused[url]
}

func (b *Browser) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

// close waits until all that the pages did was seen, and fails the test for what was wrong.
func (b *Browser) close() {
	bounded, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	err := chromedp.Do(bounded, chromedp.Navigate(b.origin+farewell))
	if err == nil {
		_, err = chromedp.Run(bounded, chromedp.Evaluate[bool](fmt.Sprintf("console.log(%q), true", farewell)))
	}
	if err != nil {
		b.t.Errorf("the browser or the process it looks at went away: %v", err)
		return
	}
	select {
	case <-b.closed:
	case <-bounded.Done():
		b.t.Error("the last request and the last message were not seen")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.wrong {
		b.t.Error(text)
	}
}

// Visit opens a page by its path; it must be there.
func (b *Browser) Visit(path string) {
	b.t.Helper()
	b.arrives(path, http.StatusOK, chromedp.Navigate(b.origin+path))
}

// VisitRefused opens a page that is not there, or not for this reader.
func (b *Browser) VisitRefused(path string, status int64) {
	b.t.Helper()
	b.mu.Lock()
	b.refused[b.origin+path] = true
	b.mu.Unlock()
	b.arrives(path, status, chromedp.Navigate(b.origin+path))
}

// Follow clicks a link or a button that leads to another page; it must be there.
func (b *Browser) Follow(selector string) {
	b.t.Helper()
	b.arrives(selector, http.StatusOK, chromedp.Click(chromedp.CSS(selector)))
}

func (b *Browser) arrives(by string, want int64, step chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	bounded, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	answer, err := chromedp.RunResponse(bounded, step)
	if err != nil {
		b.fail(by, err)
	}
	if answer != nil && answer.Status != want {
		b.t.Fatalf("%s leads to %s, which answers %d", by, answer.URL, answer.Status)
	}
}

// run does one step within bounds; what is what the test wanted.
func run[T any](b *Browser, what string, step chromedp.Action[T]) T {
	b.t.Helper()
	bounded, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	got, err := chromedp.Run(bounded, step)
	if err != nil {
		b.fail(what, err)
	}
	return got
}

// fail ends the test with what a person would see.
func (b *Browser) fail(what string, err error) {
	b.t.Helper()
	bounded, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	shown, lost := chromedp.Run(bounded, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
	if lost != nil {
		shown = lost.Error()
	}
	b.t.Fatalf("%s: %v; the page is\n%s", what, err, shown)
}

// Await waits until an element is shown.
func (b *Browser) Await(selector string) {
	b.t.Helper()
	b.do(selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// AwaitChange waits until an expression of JavaScript is true, on this page: it must not be left
// meanwhile.
func (b *Browser) AwaitChange(expression string) {
	b.t.Helper()
	run(b, expression, chromedp.Poll[bool]("!!("+expression+")", chromedp.WithPollingInterval(100*time.Millisecond), chromedp.WithPollingTimeout(0)))
}

// Press clicks what stays on the page.
func (b *Browser) Press(selector string) {
	b.t.Helper()
	b.do(selector, chromedp.Click(chromedp.CSS(selector)))
}

// Type types a text into a field.
func (b *Browser) Type(selector, text string) {
	b.t.Helper()
	b.do(selector, chromedp.SendKeys(chromedp.CSS(selector), text))
}

func (b *Browser) do(what string, step chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	run(b, what, step)
}

// Text is what a person reads in an element.
func (b *Browser) Text(selector string) string {
	b.t.Helper()
	return run(b, selector, chromedp.Text(chromedp.CSS(selector)))
}

// Has expects texts in an element.
func (b *Browser) Has(selector string, texts ...string) {
	b.t.Helper()
	got := b.Text(selector)
	for _, want := range texts {
		if !strings.Contains(got, want) {
			b.t.Errorf("%s has no %q:\n%s", selector, want, got)
		}
	}
}

// Value is what an expression of JavaScript has as text. It is evaluated by the browser, also
// where pages may not run theirs.
func (b *Browser) Value(expression string) string {
	b.t.Helper()
	return run(b, expression, chromedp.Evaluate[string]("String("+expression+")"))
}

// ForbidScript makes the browser run no JavaScript of pages from the next one on.
func (b *Browser) ForbidScript() {
	b.t.Helper()
	b.do("forbid scripts", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
}

// Resize makes the window as large as another device.
func (b *Browser) Resize(width, height int64) {
	b.t.Helper()
	b.do("resize", chromedp.EmulateViewport(width, height))
}

// Shoot keeps a picture of the page among what the test leaves (go test -artifacts).
func (b *Browser) Shoot(name string) {
	b.t.Helper()
	err := os.MkdirAll(b.shots, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(b.shots, name+".png"), b.Picture(), 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// Picture is what the window shows, as PNG.
func (b *Browser) Picture() []byte {
	b.t.Helper()
	return run(b, "picture", chromedp.CaptureScreenshot())
}

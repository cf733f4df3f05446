package doctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The summary of scripts/test tells a package that reached its time limit from one
// in which an assertion failed. A stand-in for the go command prints what go prints.
func TestTrust17SummaryTellsATimeLimitFromAFailedAssertion(t *testing.T) {
	const timeout = "panic: test timed out after 30m0s\n\trunning tests:\n\t\tTestHangs (29m58s)\n\ngoroutine 1 [running]:\nFAIL\tpatra/slow\t1800.1s\n"
	const assertion = "--- FAIL: TestWrong (0.00s)\n    wrong_test.go:1: 1, want 2\nFAIL\nFAIL\tpatra/wrong\t0.1s\n"
	for name, c := range map[string]struct {
		printed string
		code    string
		want    []string
		not     []string
	}{
		"all green": {"ok  \tpatra/good\t1s\n", "0", []string{"packages: 1 ok, 0 failed", "pictures: 1 in /", "result:   PASS"}, []string{"time:"}},
		"assertion": {assertion, "1", []string{"--- FAIL: TestWrong", "result:   FAIL"}, []string{"time:"}},
		"limit":     {timeout, "1", []string{"time:     1 of the failed packages reached the limit of 7 min", "running: TestHangs", "PATRA_TEST_LIMIT=28", "result:   FAIL"}, []string{"--- FAIL"}},
		"both":      {timeout + assertion, "1", []string{"time:     1 of the failed packages", "--- FAIL: TestWrong"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			code, out := runTestScript(t, c.printed, c.code, "0")
			if (code == 0) != (c.code == "0") {
				t.Errorf("exit %d, go test ended with %s", code, c.code)
			}
			_, summary, _ := strings.Cut(out, "==== summary ====")
			for _, want := range c.want {
				if !strings.Contains(summary, want) {
					t.Errorf("no %q in:\n%s", want, summary)
				}
			}
			for _, not := range c.not {
				if strings.Contains(summary, not) {
					t.Errorf("%q in:\n%s", not, summary)
				}
			}
		})
	}
}

// A failure of the second module alone fails the run.
func TestSummarySeesTheSecondModule(t *testing.T) {
	if code, out := runTestScript(t, "ok  \tpatra/good\t1s\n", "0", "1"); code == 0 || !strings.Contains(out, "result:   FAIL") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// runTestScript runs scripts/test with a go command that prints a text and ends with a
// code; for the second module it only ends with one.
func runTestScript(t *testing.T, printed, code, second string) (int, string) {
	t.Helper()
	pictures := t.TempDir()
	picture := filepath.Join(pictures, "of-the-outer-run.png")
	if err := os.WriteFile(picture, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := os.Stat(picture); err != nil {
			t.Errorf("a run within a run removes what the outer one has left: %v", err)
		}
	}()
	bin := t.TempDir()
	text := filepath.Join(bin, "printed")
	if err := os.WriteFile(text, []byte(printed), 0o600); err != nil {
		t.Fatal(err)
	}
	stand := "#!/bin/sh\n[ \"$1\" != -C ] || exit " + second + "\ncat '" + text + "'\nexit " + code + "\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(stand), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("../../../scripts/test")
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "PATRA_TEST_LIMIT=7", "PATRA_TEST_PICTURES="+pictures)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

const victimGrace = "PATRA_TEST_SAME_SIGNAL"

// TestVictim is the process that the test below interrupts.
func TestVictim(t *testing.T) {
	grace, err := time.ParseDuration(os.Getenv(victimGrace))
	if err != nil {
		t.Skip("it is started by another test")
	}
	ctx, stop := untilTold(grace)
	defer stop()
	say := func(line string) { _, _ = io.WriteString(os.Stdout, line+"\n") }
	say("working")
	<-ctx.Done()
	say("told")
	_, _ = io.Copy(io.Discard, os.Stdin) // tidying up
	say("in order")
}

// A signal that is sent twice at once is one: what tidies up comes to its end. One
// that is sent later ends the program.
func TestASignalThatComesTwiceAtOnceIsOne(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted by another one there")
	}
	for grace, inOrder := range map[string]bool{"1h": true, "0s": false} {
		t.Run(grace, func(t *testing.T) {
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVictim$")
			c.Env = append(os.Environ(), victimGrace+"="+grace)
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := c.StdoutPipe()
			if err == nil {
				err = c.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			said := bufio.NewScanner(out)
			hears(t, said, "working")
			if err := c.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			hears(t, said, "told")
			if !inOrder {
				ended := make(chan error, 1)
				go func() { ended <- c.Wait() }()
				for {
					_ = c.Process.Signal(os.Interrupt) // it may have ended
					select {
					case err := <-ended:
						if err == nil {
							t.Error("a second Ctrl-C did not end it")
						}
						return
					default:
						runtime.Gosched()
					}
				}
			}
			for range 100 {
				if err := c.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
			_ = in.Close()
			hears(t, said, "in order")
			if err := c.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

func hears(t *testing.T, said *bufio.Scanner, want string) {
	t.Helper()
	if !said.Scan() || said.Text() != want {
		t.Fatalf("%q, want %q (%v)", said.Text(), want, said.Err())
	}
}

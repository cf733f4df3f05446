// Command patra keeps a local copy of scholarly sources complete and fresh.
package main

import (
	"io"
	"log"
	"os"

	"github.com/patra-ingest/patra/internal/cli"
)

func main() {
	log.SetOutput(io.Discard) // net/http writes there what an upstream sent unasked, which may repeat a key (I12)
	ctx, stop := untilTold(sameSignal)
	code := cli.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

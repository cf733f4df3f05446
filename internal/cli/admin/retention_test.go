package admin

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// A process that serves removes delivered messages and those nobody asks for, unless
// somebody says otherwise.
func TestUsualRetention(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		args              []string
		env               string
		outbox, unclaimed time.Duration
	}{
		{nil, "", 30 * day, 90 * day},
		{[]string{"--outbox-keep", "7d"}, "", 7 * day, 90 * day},
		{[]string{"--outbox-keep", "all", "--unclaimed-keep", "all"}, "", 0, 0},
		{nil, "all", 0, 90 * day},
		{[]string{"--unclaimed-keep", "2d"}, "9d", 9 * day, 2 * day},
	} {
		t.Setenv("PATRA_OUTBOX_KEEP", c.env)
		var k HistoryFlags
		command := &cobra.Command{}
		k.Flags(command)
		if err := command.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		got, err := k.Config()
		if err != nil || got.Policy.Outbox != c.outbox || got.Policy.Unclaimed != c.unclaimed || got.Policy.Versions != 0 || got.Policy.Archives() {
			t.Errorf("%v: %+v, %v", c.args, got.Policy, err)
		}
	}
}

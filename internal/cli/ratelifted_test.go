package cli

import (
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// A declared quota cannot be lifted by a setting, nor by none.
func TestTrust11NoSettingLiftsAQuota(t *testing.T) {
	d := newDesk(t)
	file := d.crossrefFile("limited.yaml", "perSecond: 3", "perSecond: 3\n  quotaPerDay: 100\n  quotaPerHour: 50\n  budgetPerDay: 2\n  pricePerRequest: 0.1")
	for _, key := range []string{"quotaPerDay", "quotaPerHour", "budgetPerDay"} {
		for _, value := range []string{"0", "0.0", "1000"} {
			if key == "budgetPerDay" || value != "0.0" {
				d.holds(d.expect(term.ExitUsage, "source", "render", file, "--set", "rate."+key+"="+value).err, "E-")
			}
		}
		d.holds(d.expect(term.ExitUsage, "source", "render", file, "--set", "rate."+key+"=1000").err, "E-RATE-RAISED")
	}
	d.expect(term.ExitOK, "source", "render", file, "--set", "rate.quotaPerDay=90")
}

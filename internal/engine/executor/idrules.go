package executor

import (
	"math"

	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/twophase"
)

// idRules are how the answers to ids are judged. They depend on where the ids came from.
type idRules struct {
	missing    twophase.Policy // what becomes of an id without a detail
	whyMissing string          // what its reject says
	tombstones bool            // a record that stays missing, now and a day later, becomes a tombstone (D§5.13)
	stored     bool            // ids are those of stored records: an answer that lacks them has to prove itself
	redirects  bool            // an answer about another id means a merge
	named      bool            // ids were named by somebody, unreadable ones among them: that none can be understood is no news
	rejected   bool            // ids are those of rejected items, which may never have been stored
	sample     int             // how many ids must have been answered before the share of bad ones says something
}

// sampleOfLook is how many records must have been asked for before the share of
// unreadable ones says something about the source.
const sampleOfLook = 20

// searchRules returns the rules for ids that a search found.
func searchRules(p *spec.Program) idRules {
	return idRules{
		missing: p.Details.Missing, tombstones: p.Details.Missing == twophase.Gone,
		whyMissing: "the search names it, the detail endpoint does not have it",
	}
}

// candidateRules returns the rules for the candidates of an update. A stored record is
// always asked for twice: an answer that lacks it may be a hiccup.
func candidateRules(p *spec.Program, policy refresh.Policy) idRules {
	rules := idRules{
		missing: twophase.Recheck, tombstones: p.Details.Gone(), stored: true, redirects: p.Details.Redirects,
		named: policy == refresh.BySignal, sample: sampleOfLook,
		whyMissing: "the record is stored, the detail endpoint does not have it any more",
	}
	if policy == refresh.ByQuarantine {
		rules.named, rules.rejected, rules.sample = true, true, math.MaxInt // of rejected items many are rejected again
		rules.tombstones = false                                            // others look after what is gone
		rules.whyMissing = "the detail endpoint does not have it"
	}
	return rules
}

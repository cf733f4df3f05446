package registry

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/slicing"
)

// listChecks is §4.17 and the consistency rules of §3.3.3, one function a rule.
// Each names the field that is wrong and speaks under its own code (Codes).
func listChecks() []func(*Resolved) Problems {
	return []func(*Resolved) Problems{
		(*Resolved).checkAuth,
		(*Resolved).checkPathSecret,
		(*Resolved).checkPagingPaths,
		(*Resolved).checkPagingKinds,
		(*Resolved).checkWindowSupport,
		(*Resolved).checkOrder,
		(*Resolved).checkWhole,
		(*Resolved).checkReplacedWindow,
		(*Resolved).checkFiles,
		(*Resolved).checkBootstrap,
		(*Resolved).checkTwoPhase,
		(*Resolved).checkAlone,
		(*Resolved).checkSameRecords,
		(*Resolved).checkUpdatedAt,
		(*Resolved).checkLimits,
		(*Resolved).checkNamespace,
		(*Resolved).checkStrategy,
		(*Resolved).checkAxis,
		(*Resolved).checkPartitions,
		(*Resolved).checkSecrets,
		(*Resolved).checkNotSecret,
		(*Resolved).checkHeaderNames,
		(*Resolved).checkZeros,
		(*Resolved).checkRequest,
		(*Resolved).checkSelection,
		(*Resolved).checkPageSent,
		(*Resolved).checkNext,
		(*Resolved).checkParams,
		(*Resolved).checkResponse,
		(*Resolved).checkGiven,
		(*Resolved).checkEmptyStatus,
	}
}

// checkPagingPaths checks rule 2: a source that pages by token or URL must say
// where the next one stands.
func (r *Resolved) checkPagingPaths() Problems {
	switch {
	case r.Paging.Type == paging.Token && r.Response.NextToken.IsZero():
		return Problems{r.problemAt(Path{"response", "nextToken"}, "E-PAGING-NEXT: paging by TOKEN needs the path of the next token", "without it every walk would end after its first page")}
	case r.Paging.Type == paging.URL && r.Response.NextURL.IsZero() && !r.Paging.LinkHeader:
		return Problems{r.problemAt(Path{"response", "nextUrl"}, "E-PAGING-NEXT: paging by URL needs the path of the next address, or paging.linkHeader", "without it every walk would end after its first page")}
	}
	return nil
}

// checkPagingKinds refuses two ways of paging at once (§4.3.4).
func (r *Resolved) checkPagingKinds() Problems {
	var out Problems
	mixed := func(path Path, what string) {
		out = append(out, r.problemAt(path, fmt.Sprintf("E-PAGING-MIXED: %s, but paging.type is %s", what, r.Paging.Type), "an endpoint pages in one way"))
	}
	if r.Paging.Type == "" {
		return nil
	}
	if r.Paging.Type != paging.Token && !r.Response.NextToken.IsZero() {
		mixed(Path{"response", "nextToken"}, "a next token belongs to TOKEN")
	}
	if r.Paging.Type != paging.URL && !r.Response.NextURL.IsZero() {
		mixed(Path{"response", "nextUrl"}, "a next address belongs to URL")
	}
	if r.Paging.Type == paging.One {
		out = append(out, r.checkOnePage()...)
	}
	allowed := map[paging.Type]string{paging.Offset: "page.offset", paging.Page: "page.number", paging.Token: "page.token"}[r.Paging.Type]
	for _, t := range r.listTemplates() {
		for _, name := range []string{"page.offset", "page.number", "page.token"} {
			if name != allowed && slices.Contains(t.names, name) {
				mixed(t.path, "the request sends ${"+name+"}")
			}
		}
	}
	return out
}

// checkOnePage refuses what has a meaning only where there are several pages. An upstream
// that takes a limit may have more than the limit: that is TIME, which notices a full page.
func (r *Resolved) checkOnePage() (out Problems) {
	section, _ := resolvedShape().fieldNamed("paging")
	for _, f := range section.shape.fields {
		path := Path{"paging", f.name}
		if slices.Contains([]string{"type", "maxResults", "expectTotal"}, f.name) || !r.isGiven(path) {
			continue
		}
		out = append(out, r.problemAt(path, "E-PAGING-MIXED: an endpoint with one page has nothing for it (paging.type: ONE)",
			"where the upstream takes a limit, use TIME: a full page is then asked for in narrower windows"))
	}
	for _, t := range r.listTemplates() {
		if slices.Contains(t.names, "page.size") {
			out = append(out, r.problemAt(t.path, "E-PAGING-MIXED: the request sends ${page.size}, but paging.type is ONE",
				"where the upstream takes a limit, use TIME: a full page is then asked for in narrower windows"))
		}
	}
	return out
}

// checkTwoPhase checks rule 4: a search for ids has its detail endpoint.
func (r *Resolved) checkTwoPhase() Problems {
	name := r.Details.Endpoint
	if name == "" || r.StandsAlone() && name == r.Endpoint {
		return nil
	}
	detail, ok := r.origin.Endpoints[name]
	switch {
	case !ok:
		return Problems{r.problemAt(Path{"details", "endpoint"}, fmt.Sprintf("E-TWO-PHASE-PAIR: there is no endpoint %q to ask for details", name), hintFor(name, sortedKeys(r.origin.Endpoints), "endpoints"))}
	case detail.Role != roleDetail:
		return Problems{r.problemAt(Path{"details", "endpoint"}, fmt.Sprintf("E-TWO-PHASE-PAIR: endpoint %q has role %s", name, detail.Role), "details come from an endpoint with role DETAIL")}
	case r.Role == roleDetail:
		return Problems{r.problemAt(Path{"details", "endpoint"}, "E-TWO-PHASE-PAIR: a DETAIL endpoint has no second step of its own", "")}
	}
	second, err := r.Second()
	if err != nil {
		return Problems{r.problemAt(Path{"details", "endpoint"}, "E-TWO-PHASE-PAIR: "+err.Error(), "")}
	}
	for _, t := range second.listTemplates() {
		if slices.Contains(t.names, "ids") {
			return nil
		}
	}
	return Problems{r.problemAt(Path{"details", "endpoint"}, fmt.Sprintf("E-TWO-PHASE-PAIR: the request of endpoint %q never sends ${ids}", name), "every batch would ask for the same records")}
}

// checkUpdatedAt checks rule 5: a source that follows a date must say which date an item has
// (§4.4.3). That is when it changed, which the details say in two phases. A source that
// only knows when items came names the date of its filter: the copy fetched last wins then.
func (r *Resolved) checkUpdatedAt() Problems {
	if r.Operation == opUpdate || r.hasNoWindow() || r.isGiven(Path{"snapshot"}) || r.Response.Replaces == extract.ReplacesWindow {
		return nil
	}
	response, place := r.Response, r
	if r.Details.Enabled() {
		second, err := r.Second()
		if err != nil {
			return nil // said by checkTwoPhase
		}
		response, place = second.Response, second
	}
	if response.UpdatedAt.IsZero() && r.Response.Filtered.IsZero() {
		hint := "if items have neither, read the list whole every time (filter.bounds: NONE and snapshot), or let the endpoint serve UPDATE only: supports: [UPDATE]"
		if r.Filter.Ends == query.OneUnit {
			hint = "if items have neither, as rows of a report, let each reading of a unit replace the last one: response.replaces: WINDOW"
		}
		return Problems{place.problemAt(Path{"response", "updatedAt"}, "E-UPDATED-AT: HARVEST and BACKFILL need a date of an item: when it last changed (response.updatedAt), or the date that the filter selects by (response.filtered)", hint)}
	}
	return nil
}

// checkLimits checks rule 6: nothing exceeds what we or the upstream allow.
func (r *Resolved) checkLimits() Problems {
	const longest = duration.Duration(2 * time.Minute)
	var out Problems
	refuse := func(path, message string) { out = append(out, r.problemAt(strings.Split(path, "."), message, "")) }
	out = append(out, r.checkRate()...)
	if r.Response.MaxRejectRate > 1 {
		refuse("response.maxRejectRate", "E-SHARE: must be between 0 and 1")
	}
	if r.HTTP.Timeout > longest {
		refuse("http.timeout", "E-TIMEOUT: must be at most "+longest.String())
	}
	if r.HTTP.ConnectTimeout > r.HTTP.Timeout && r.isGiven(Path{"http", "connectTimeout"}) {
		refuse("http.connectTimeout", fmt.Sprintf("E-TIMEOUT: connecting may take %s, longer than the whole request (http.timeout %s)", r.HTTP.ConnectTimeout, r.HTTP.Timeout))
	}
	if r.HTTP.ReadTimeout > r.HTTP.Timeout {
		refuse("http.readTimeout", fmt.Sprintf("E-TIMEOUT: a silence of %s is longer than the whole request may take (http.timeout %s)", r.HTTP.ReadTimeout, r.HTTP.Timeout))
	}
	out = append(out, r.checkRetry()...)
	if r.Paging.Type != paging.One && r.Paging.MaxResults > 0 && r.Paging.Size > r.Paging.MaxResults {
		refuse("paging.size", fmt.Sprintf("E-PAGE-SIZE: %d is more than the %d the upstream serves (paging.maxResults)", r.Paging.Size, r.Paging.MaxResults))
	}
	return out
}

// Raised lists limits an override lifts above what the source declares: a run
// may be more polite than its source, never less (rule 6). They are limits of an
// upstream; a run that goes to another address is not held to them.
func (r *Resolved) Raised(declared *Resolved) Problems {
	out := r.raisedDetails(declared)
	if hostOf(r.HTTP.BaseURL) != hostOf(declared.HTTP.BaseURL) {
		return out
	}
	if *declared.Rate.ObeyHeaders && !*r.Rate.ObeyHeaders {
		out = append(out, r.problemAt(Path{"rate", "obeyHeaders"}, "E-RATE-RAISED: the source obeys the limits its upstream announces", "a run may not stop doing so"))
	}
	return append(out, r.raisedRates(declared)...).sortProblems()
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// checkStrategy refuses a way of cutting that the operation has nothing for: only
// an UPDATE of a source that is asked by id works on ranges of ids.
func (r *Resolved) checkStrategy() Problems {
	byID := r.Operation == opUpdate && r.Details.Enabled()
	if r.Slicing.Strategy != slicing.IDRange || byID || r.hasNoWindow() {
		return nil
	}
	return Problems{r.problemAt(Path{"slicing", "strategy"}, fmt.Sprintf("E-SLICING-STRATEGY: ID_RANGE cuts ids of stored records, and %s of this endpoint reads windows of time", r.Operation),
		"use TIME; an UPDATE with details.endpoint is cut by ids automatically")}
}

// checkNamespace checks rule 8: the watermark of an operation is its own (D§5.8).
func (r *Resolved) checkNamespace() Problems {
	namespace := r.Window.Namespace
	own := map[bool][]string{true: {"EXPR", "GLOBAL"}, false: {"CUSTOM"}}[r.Operation == "HARVEST"]
	if namespace == "" || slices.Contains(own, namespace) {
		return nil
	}
	return Problems{r.problemAt(Path{"window", "namespace"}, fmt.Sprintf("E-NAMESPACE: %s cannot be the namespace of %s", namespace, r.Operation),
		"use "+strings.Join(own, " or ")+", below operations."+r.Operation)}
}

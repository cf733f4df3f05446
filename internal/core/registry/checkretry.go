package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/exchange"
)

// checkRetry is the part of rule 6 that is about further tries (§4.11).
func (r *Resolved) checkRetry() Problems {
	var out Problems
	p := r.Retry
	refuse := func(key, message, hint string) { out = append(out, r.problemAt(Path{"retry", key}, message, hint)) }
	if p.Jitter > 1 {
		refuse("jitter", "E-SHARE: must be between 0 and 1", "")
	}
	if p.MaxDelay < p.InitialDelay {
		refuse("maxDelay", fmt.Sprintf("E-RETRY-ORDER: %s is less than retry.initialDelay %s", p.MaxDelay, p.InitialDelay), "")
	}
	if p.Multiplier < 1 {
		refuse("multiplier", "E-RETRY-ORDER: must be at least 1, or waits would shrink", "")
	}
	switch {
	case p.WaitHeader == "" && p.WaitForm != "":
		refuse("waitForm", "E-RETRY-WAIT: there is no retry.waitHeader to read", "")
	case p.WaitHeader == "":
	case strings.EqualFold(p.WaitHeader, "Retry-After"):
		refuse("waitHeader", "E-RETRY-WAIT: Retry-After is always read", "leave it out; retryAfterCap says how long a task waits for it")
	case exchange.CheckHeaderName(p.WaitHeader) != nil:
		refuse("waitHeader", fmt.Sprintf("E-RETRY-WAIT: %.80q cannot be the name of a header", p.WaitHeader), "")
	}
	return append(append(out, r.checkStatuses()...), r.checkIgnored()...)
}

// checkStatuses refuses a status in two lists, and a success in any of them: a
// status has one meaning.
func (r *Resolved) checkStatuses() Problems {
	var out Problems
	lists := []struct {
		key      string
		statuses []int
	}{{"retryStatus", r.Retry.RetryStatus}, {"giveUpStatus", r.Retry.GiveUpStatus}, {"ignoreStatus", r.Retry.IgnoreStatus}}
	for i, list := range lists {
		for _, status := range list.statuses {
			if status < 300 || status > 599 {
				out = append(out, r.problemAt(Path{"retry", list.key}, fmt.Sprintf("E-RETRY-STATUS: %d is not a status of a failed request", status), "use 300 to 599; response.retryWhen looks into bodies"))
			}
			for _, other := range lists[i+1:] {
				if slices.Contains(other.statuses, status) {
					out = append(out, r.problemAt(Path{"retry", list.key}, fmt.Sprintf("E-RETRY-STATUS: %d is also in retry.%s", status, other.key), ""))
				}
			}
		}
	}
	return out
}

// checkEmptyStatus refuses statuses that cannot mean that nothing was found, and those that no body
// confirms: a wrong path answers with 404 too, and its window would count as read.
func (r *Resolved) checkEmptyStatus() (out Problems) {
	path := Path{"response", "emptyStatus"}
	refuse := func(why, hint string) { out = append(out, r.problemAt(path, "E-EMPTY-STATUS: "+why, hint)) }
	if len(r.Response.EmptyStatus) == 0 {
		return nil
	}
	if r.Role == roleDetail {
		refuse(fmt.Sprintf("endpoint %s is asked by id", r.Endpoint), "a status that says of an id that it does not exist is retry.ignoreStatus")
	}
	if len(r.Response.EmptyWhen) == 0 {
		refuse("a status alone never means that nothing was found", "declare response.emptyWhen: what in the body of such an answer says so")
	}
	for _, status := range r.Response.EmptyStatus {
		switch {
		case status < 400 || status > 499:
			refuse(fmt.Sprintf("%d does not say that nothing was found", status), "statuses from 400 to 499 can; 204 is always an empty page")
		case slices.Contains([]int{401, 402, 403, 407, 408, 425, 429, 451}, status):
			refuse(fmt.Sprintf("%d says that we are refused or too fast", status), "with a revoked key every window would be empty")
		}
	}
	return out
}

// checkIgnored refuses what would hide a hole. To ignore a status is to believe
// that the one id asked for does not exist; of a list it would mean that nothing
// changed in its window, and of an upstream in trouble or a refused key that
// nothing exists at all.
func (r *Resolved) checkIgnored() Problems {
	var out Problems
	path := Path{"retry", "ignoreStatus"}
	if len(r.Retry.IgnoreStatus) > 0 && r.Role != roleDetail {
		return Problems{r.problemAt(path, fmt.Sprintf("E-RETRY-IGNORE: endpoint %s is searched: a page that is ignored would be a window without records, and count as read", r.Endpoint),
			"write it below the DETAIL endpoint; a search that says in its body that it found nothing is response.emptyWhen")}
	}
	for _, status := range r.Retry.IgnoreStatus {
		why := ""
		switch {
		case status < 300 || status > 599: // said above
		case status < 400:
			why = "sends us elsewhere, it does not say that an id does not exist"
		case status == 401 || status == 403 || status == 407:
			why = "refuses us: with a revoked key every id would be missing"
		case status == 408 || status == 425 || status == 429 || status >= 500:
			why = "says that the upstream cannot answer now: every id would be missing while it cannot"
		}
		if why != "" {
			out = append(out, r.problemAt(path, fmt.Sprintf("E-RETRY-IGNORE: %d %s", status, why), "retry it, or give it up"))
		}
	}
	return out
}

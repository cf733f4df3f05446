package simulated

import "fmt"

// RacksEndpoint lists the racks, of which each has a list of works.
const RacksEndpoint = "racks"

// Racks is a list that is given rack by rack only, where the racks are stored records of another list: they come, change and go.
// The server is told by FormOptions.Shelf which works stand on which rack, and /racks is served beside it. With changed only
// those racks are asked for that changed, and the others in turns.
func Racks(changed bool) Form {
	name, only := "racks", ""
	if changed {
		name, only = "racks-changed", ", changed: true, sweep: PT2H"
	}
	return Form{Name: name, endpoints: fmt.Sprintf(`endpoints:
  %s:
    role: SEARCH
    request: {path: /racks, query: {from: "${filter.from}", until: "${filter.to}"}}
    paging: {type: ONE}
    response: {items: $.racks, id: $.id, updatedAt: $.updated, filtered: $.updated, gone: "${jsonPath('$.closed')}", fields: {name: $.id}}
  %s:
    role: SEARCH
    partitions: {rack: {from: {endpoint: %s, value: $.id, since: $.created%s}, inItem: $.shelf, refusedStatus: [451], recheck: PT1H, maxRefused: 0.5}}
    request: {path: /forms/shelves, query: {from: "${filter.from}", until: "${filter.to}", size: "${page.size}", token: "${page.token}", shelf: "${partition.rack}"}}
    paging: {type: TOKEN, size: %d, uniqueTokens: true}
    response:
%s      nextToken: $.next
`, RacksEndpoint, Endpoint, RacksEndpoint, only, PageSize, indentLines(6, wholeItems))}
}

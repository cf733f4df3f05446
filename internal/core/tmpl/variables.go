package tmpl

// Variable is a name that templates of some place may use, for the documentation.
type Variable struct {
	Place string // where such templates stand
	Name  string
	Doc   string
}

// Places of variables, as the documentation calls them.
const (
	inRequests = "`request`: path, query, headers, form, body; `http.headers`"
	inAnswers  = "`response`: every template, beside `jsonPath`"
	inRules    = "`query.rules`: template, params"
)

// Variables lists every variable, in the order of the documentation.
var Variables = [...]Variable{
	{inRequests, "filter.from", "start of the slice, written as `filter` says: precision, zone, format, and moved where the upstream does not include it"},
	{inRequests, "filter.to", "end of the slice, written the same way; the end is never part of a slice, so with `to: INCLUSIVE` it is the unit before it"},
	{inRequests, "filter.at", "the hour, day, month or year that the slice lies in, written the same way; for `filter.bounds: UNIT`"},
	{inRequests, "window.from", "start of the slice as an instant, for `formatDateTime`, `epoch` and the like"},
	{inRequests, "window.to", "end of the slice as an instant, not part of it"},
	{inRequests, "page.size", "items asked for on a page (`paging.size`, less while pages are made smaller)"},
	{inRequests, "page.number", "number of the page, `PAGE`; counts from `paging.base`"},
	{inRequests, "page.offset", "items before the page, `OFFSET`"},
	{inRequests, "page.token", "what `response.nextToken` gave, `TOKEN`; on the first page `paging.initial`, else empty, and an empty parameter is left out"},
	{inRequests, "page.url", "address of the page, `URL`; it is asked for as it is and seldom needed in a template"},
	{inRequests, "query", "the query text that `query.rules` wrote for `query.where` and the window"},
	{inRequests, "params.KEY", "the value of a standard key that rules wrote; empty if none did"},
	{inRequests, "partition.NAME", "value of the entry NAME of `partitions` that the slice is for; `partition.NAME.FIELD` is what its record carries (`from.carry`)"},
	{inRequests, "ids", "list of the ids a `DETAIL` endpoint is asked for: `${join(ids, ',')}`"},
	{inRequests, "secret.NAME", "place of a credential that travels in the path (`in: PATH`); in `request.path` only, and alone in its `${…}`"},
	{inRequests, "contact.email", "`contact.email` of the source"},
	{inAnswers, "ids", "list of the ids that the request asked for; for endpoints that are asked for one id at a time: `${first(ids)}`"},
	{inAnswers, "window.from", "start of the slice as an instant; absent in answers to a request by id and in a list that is read whole"},
	{inAnswers, "window.to", "end of the slice as an instant, not part of it"},
	{inAnswers, "partition.NAME", "value of the entry NAME of `partitions` that was asked for; `partition.NAME.FIELD` is what its record carries"},
	{inAnswers, "window.unit", "the hour, day, month or year that was asked for, such as `2025-03-04`, in `filter.zone`; for `filter.bounds: UNIT` only"},
	{inAnswers, "key", "name of the member that an item is, where `items` selects the members of an object: `$.entities.*`"},
	{inAnswers, "fetched", "the instant at which the answer came; it makes no new version of a record by itself"},
	{inRules, "field", "name of the field of the condition, as `query.fields` declares it"},
	{inRules, "v", "the value as it was written, of a phrase, word or text"},
	{inRules, "quoted", "the value in double quotes, quotes inside it escaped"},
	{inRules, "match", "`PHRASE`, `EXACT` or `ANY`"},
	{inRules, "case", "`SENSITIVE` or `INSENSITIVE`"},
	{inRules, "from", "lower bound of a range; where it has none, what `openFrom` says"},
	{inRules, "to", "upper bound of a range; where it has none, what `openTo` says"},
	{inRules, "items", "values of `oneOf`, joined as `itemTemplate` and `joiner` say"},
	{inRules, "type", "type of a token, such as `doi`"},
	{inRules, "token", "value of a token"},
	{inRules, "exists", "true for `exists`, false for `missing`"},
	{inRules, "negated", "true below `not`"},
}

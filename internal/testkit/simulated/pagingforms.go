package simulated

import "slices"

// PagingForms gives a source file for each way to page.
func PagingForms() []Form {
	return slices.Concat(countedForms(), namedForms(), keyedForms(), twoSteps(), exactForms())
}

// countedForms are lists where the client says how far it is.
func countedForms() []Form {
	offset := "\n  offset: ${page.offset}"
	page := "\n  page: ${page.number}"
	return []Form{
		{Name: "offset", path: "offset", window: inQuery + offset, paging: "type: OFFSET\nexpectTotal: true"},
		{Name: "offset-blind", path: "offset-blind", window: inQuery + offset, paging: "type: OFFSET", answer: onlyItems},
		{Name: "page", path: "page", window: inQuery + page, paging: "type: PAGE\nbase: 1\nexpectTotal: true"},
		{Name: "page0", path: "page0", window: inQuery + page, paging: "type: PAGE\nbase: 0\nexpectTotal: true"},
		{Name: "more", path: "more", window: inQuery + offset, paging: "type: OFFSET\nexpectTotal: true", answer: wholeItems + "\nhasMore: $.has_more"},
		{Name: "time", path: "time", paging: "type: TIME", answer: onlyItems},
	}
}

// namedForms are lists where a page names the next one.
func namedForms() []Form {
	token := wholeItems + "\nnextToken: $.next"
	link := wholeItems + "\nnextUrl: $.links.next"
	unique := "type: TOKEN\nuniqueTokens: true\nexpectTotal: true"
	return []Form{
		{Name: "token", path: "token", window: inQuery + "\n  token: ${page.token}", paging: unique, answer: token},
		{Name: "token-same", path: "token-same", window: inQuery + "\n  token: ${page.token}", answer: token,
			paging: "type: TOKEN\nreplayable: false\nendOnShortPage: true\nexpectTotal: true"},
		{Name: "token-header", path: "token-header", ask: "headers:\n  X-Page-Token: ${page.token}", paging: unique, answer: token},
		{Name: "token-body", path: "token-body", method: "POST", window: inBody, paging: unique, answer: token},
		{Name: "token-form", path: "token-body", method: "POST", window: inForm, paging: unique, answer: token},
		{Name: "links", path: "links", paging: "type: URL\nuniqueTokens: true\nexpectTotal: true", answer: link},
		{Name: "links-relative", path: "links-relative", paging: "type: URL\nuniqueTokens: true\nexpectTotal: true", answer: link},
		{Name: "links-header", path: "links-header", paging: "type: URL\nlinkHeader: true\nuniqueTokens: true\nexpectTotal: true"},
	}
}

const inBody = `
body: '{"from": "${filter.from}", "until": "${filter.to}", "size": ${page.size}, "token": "${page.token}"}'`

const inForm = `
form:
  from: ${filter.from}
  until: ${filter.to}
  size: ${page.size}
  token: ${page.token}`

// keyedForms are lists that go on behind the last item of a page, which is read as
// its token. The page without items has none, and is the end.
func keyedForms() []Form {
	return []Form{
		{Name: "keyset", path: "keyset", window: inQuery + "\n  after_id: ${page.token}",
			paging: "type: TOKEN\nexpectTotal: true", answer: wholeItems + "\nnextToken: $.items[-1].id"},
		{Name: "keyset-stamp", path: "keyset-stamp",
			window: inQuery + `
  after_stamp: ${element(split(page.token, ' '), 0)}
  after_id: ${element(split(page.token, ' '), 1)}`,
			paging: "type: TOKEN\nexpectTotal: true",
			answer: wholeItems + `
nextToken: >-
  ${if(jsonPath('$.items[-1].id') == nil, '', concat(jsonPath('$.items[-1].updated'), ' ', jsonPath('$.items[-1].id')))}`},
	}
}

// twoSteps are searches for ids, with their records asked for by GET, as a form,
// as JSON, and in XML.
func twoSteps() []Form {
	offset := "\n  offset: ${page.offset}"
	ids := "items: $.ids\nid: $\ntotal: $.total\nerrorWhen: [$.error]"
	paging := "type: OFFSET\nexpectTotal: true"
	answer := "response:\n" + indentLines(2, onlyItems)
	records := func(name, request string) Form {
		return Form{Name: name, path: "search", window: inQuery + offset, paging: paging, answer: ids, Records: "records",
			detail: "request:\n" + indentLines(2, request) + answer}
	}
	inXML := records("search-xml", "path: /forms/records-xml\nquery: {ids: \"${join(ids, ',')}\"}")
	inXML.path = "search-xml"
	inXML.answer = "format: XML\nitems: $.answer.ids.id\nid: $\ntotal: $.answer.total"
	inXML.detail = "request:\n  path: /forms/records-xml\n  query: {ids: \"${join(ids, ',')}\"}\nresponse:\n" + indentLines(2, xmlRecords)
	return []Form{
		records("search", "path: /forms/records\nquery: {ids: \"${join(ids, ',')}\"}"),
		records("search-form", "method: POST\npath: /forms/records\nform: {ids: \"${join(ids, ',')}\"}"),
		records("search-json", "method: POST\npath: /forms/records\nbody: '{\"ids\": \"${join(ids, '','')}\"}'"),
		inXML,
	}
}

const xmlRecords = `
format: XML
items: $.answer.record
id: $.id
updatedAt: $.updated
version: $.version
fields: {title: $.title}
required: [title]`

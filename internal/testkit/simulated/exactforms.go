package simulated

// exactForms are lists that refuse every other spelling of a request than theirs.
func exactForms() []Form {
	token := wholeItems + "\nnextToken: $.next"
	unique := "type: TOKEN\nuniqueTokens: true\nexpectTotal: true"
	return []Form{
		{Name: "repeated", path: "repeated", window: inQuery + "\n  token: ${page.token}\n  field: [id, title & more]", paging: unique, answer: token},
		{Name: "token-exact", path: "token-exact", method: "POST", paging: unique, answer: token,
			window: `
body: '{"from": "${filter.from}", "until": "${filter.to}", "size": ${page.size}, "token?": "${page.token}"}'`},
		{Name: "scroll", path: "scroll", method: "POST", paging: "type: TOKEN\nuniqueTokens: true\nexpectTotal: true", answer: token,
			window: `
body: '{"from": "${filter.from}", "until": "${filter.to}", "size": ${page.size}}'
next:
  body: '{"token": "${page.token}"}'`},
		{Name: "get-body", path: "get-body", paging: unique, answer: token,
			window: `
bodyWithGet: true
body: '{"from": "${filter.from}", "until": "${filter.to}", "size": ${page.size}, "token?": "${page.token}"}'`},
	}
}

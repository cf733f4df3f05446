package tmpl

// Functions is the closed list (§4.8), in the order of the documentation. A new one is added here, with its
// documentation, or it does not exist.
var Functions = []function{
	{Function: Function{"now", "now()", "The instant of the run, one for a whole slice. Requests only."}, only: requestScope, result: timeType},
	{Function: Function{"formatDateTime", "formatDateTime(instant, 'pattern'[, 'zone'])", "Writes an instant, in UTC unless a zone is given. Patterns use yyyy yy MM M MMM MMMM dd d EEE HH hh a mm ss SSS XXX; T and Z mean themselves, other plain text stands in quotes."},
		kinds: []kind{instant, datePattern, zoneName}, optional: 1, result: textType, call: formatDateTime},
	{Function: Function{"parseDate", "parseDate(text, 'pattern', …)", "Reads an instant with the first pattern that fits. Without an offset in the pattern it is UTC."},
		kinds: []kind{text, datePattern}, repeats: true, call: parseDate},
	{Function: Function{"epoch", "epoch(instant)", "Whole seconds since 1970."}, kinds: []kind{instant}, result: intType, call: epochOf},
	{Function: Function{"epochMillis", "epochMillis(instant)", "Whole milliseconds since 1970."}, kinds: []kind{instant}, result: intType, call: epochMillis},
	{Function: Function{"fromEpoch", "fromEpoch(number)", "The instant of a count since 1970: seconds, or milliseconds from 100000000000 on."}, kinds: []kind{number}, call: fromEpoch},
	{Function: Function{"addDuration", "addDuration(instant, 'P1D')", "An instant later by a duration, or earlier: '-PT1H'."}, kinds: []kind{instant, spanText}, result: timeType, call: addDuration},

	{Function: Function{"if", "if(condition, a, b)", "a if the condition is true, else b; the same as condition ? a : b."}, kinds: []kind{anything, anything, anything}},
	{Function: Function{"coalesce", "coalesce(value, …)", "The first value that is not absent and not empty."}, kinds: []kind{anything}, repeats: true, absent: true, call: firstPresent},
	{Function: Function{"default", "default(value, fallback)", "The value, or the fallback where it is absent or empty."}, kinds: []kind{anything, anything}, absent: true, call: firstPresent},

	{Function: Function{"concat", "concat(value, …)", "All values as one text."}, kinds: []kind{text}, repeats: true, absent: true, result: textType, call: concatTexts},
	{Function: Function{"lower", "lower(text)", "In small letters."}, kinds: []kind{text}, result: textType, call: lowerText},
	{Function: Function{"upper", "upper(text)", "In capital letters."}, kinds: []kind{text}, result: textType, call: upperText},
	{Function: Function{"trim", "trim(text)", "Without white space at both ends."}, kinds: []kind{text}, result: textType, call: trimText},
	{Function: Function{"substring", "substring(text, from[, to])", "The characters from index from (0 is the first) up to, not including, to."}, kinds: []kind{text, number, number}, optional: 1, result: textType, call: substringOf},
	{Function: Function{"replace", "replace(text, old, new)", "With every old replaced by new."}, kinds: []kind{text, text, text}, result: textType, call: replaceText},
	{Function: Function{"split", "split(text, separator)", "The list of the texts between separators."}, kinds: []kind{text, text}, result: listType, call: splitText},
	{Function: Function{"join", "join(list, separator)", "The elements as one text; absent elements are left out."}, kinds: []kind{list, text}, result: textType, call: joinTexts},
	{Function: Function{"regexFind", "regexFind(text, 'pattern'[, group])", "The first match of an RE2 pattern, or the given group of it; absent without a match."}, kinds: []kind{text, regexText, number}, optional: 1, call: regexFind},
	{Function: Function{"quote", "quote(value)", "In double quotes, with a backslash before quotes and backslashes inside, for a query language in the text of a body; of a list each element, with commas between them. A line break is refused."}, kinds: []kind{anything}, result: textType, call: quoteValue},
	{Function: Function{"base64", "base64(text)", "In standard base64 with padding."}, kinds: []kind{text}, result: textType, call: base64Encode},
	{Function: Function{"base64Decode", "base64Decode(text)", "The text that was encoded, in any of the common base64 forms."}, kinds: []kind{text}, result: textType, call: base64Decode},
	{Function: Function{"sha256", "sha256(text)", "SHA-256 in small hexadecimal letters."}, kinds: []kind{text}, result: textType, call: sha256Hex},
	{Function: Function{"urlEncode", "urlEncode(text)", "Percent-encoded. Values of a request are encoded anyway; this is for a URL inside a value."}, kinds: []kind{text}, result: textType, call: urlEncode},

	{Function: Function{"jsonPath", "jsonPath('$.path')", "What an RFC 9535 path selects in the item; absent if nothing. Output fields only."}, kinds: []kind{text}, only: itemScope},
	{Function: Function{"header", "header('X-Total-Count')", "A header of the answer as text; absent if there is none. Templates of `response` only."}, kinds: []kind{text}, only: itemScope},
	{Function: Function{"carried", "carried('name')", "What a part of an item carries of it (`response.expand.carry`); absent if nothing. Templates of `response` only."}, kinds: []kind{text}, only: itemScope},
	{Function: Function{"hash", "hash(value, …)", "SHA-256 of the values as a JSON list, in small hexadecimal letters: a name for an item that has none. Without values: the hash of the whole item, without its volatile parts. Templates of `response` only."}, kinds: []kind{anything}, optional: 1, repeats: true, absent: true, only: itemScope, result: textType, call: hashValues},
	{Function: Function{"length", "length(value)", "Characters of a text or elements of a list; 0 for an absent value."}, kinds: []kind{anything}, absent: true, result: intType, call: lengthOf},
	{Function: Function{"first", "first(list)", "The first element; absent if there is none."}, kinds: []kind{list}, call: firstElement},
	{Function: Function{"last", "last(list)", "The last element; absent if there is none."}, kinds: []kind{list}, call: lastElement},
	{Function: Function{"element", "element(list, index)", "The element at an index, 0 being the first and -1 the last; absent if there is none."}, kinds: []kind{list, number}, call: elementAt},
	{Function: Function{"string", "string(value)", "A value as text."}, kinds: []kind{text}, result: textType, call: sameValue},
	{Function: Function{"int", "int(value)", "A whole number, from a number (its fraction is cut off) or a text; absent for an empty text."}, kinds: []kind{anything}, call: toInt},
	{Function: Function{"number", "number(value)", "A number, from a number or a text; absent for an empty text."}, kinds: []kind{anything}, call: asNumber},
}

// operators that are functions of ours: arithmetic that notices overflow, and
// tests on text that an absent value answers with false.
var operators = []function{
	{Function: Function{"+", "number + number, or text + text", ""}, kinds: []kind{addend, addend}, absent: true, alike: true, call: addNumbers},
	{Function: Function{"-", "number - number", ""}, kinds: []kind{operand, operand}, absent: true, call: subtractNumbers},
	{Function: Function{"*", "number * number", ""}, kinds: []kind{operand, operand}, absent: true, call: multiplyNumbers},
	{Function: Function{"/", "number / number", ""}, kinds: []kind{operand, operand}, absent: true, call: divideNumbers},
	{Function: Function{"%", "number % number", ""}, kinds: []kind{operand, operand}, absent: true, call: remainderOf},
	{Function: Function{"contains", "text contains text", ""}, kinds: []kind{text, text}, absent: true, result: boolType, call: containsText},
	{Function: Function{"startsWith", "text startsWith text", ""}, kinds: []kind{text, text}, absent: true, result: boolType, call: startsWith},
	{Function: Function{"endsWith", "text endsWith text", ""}, kinds: []kind{text, text}, absent: true, result: boolType, call: endsWith},
}

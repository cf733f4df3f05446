package registry

import "strings"

// The reg_* tables a source file is stored in.
const (
	tableSource     = "reg_provenance_version"
	tableEndpoint   = "reg_prov_endpoint_def"
	tableHTTP       = "reg_prov_http_cfg"
	tablePaging     = "reg_prov_pagination_cfg"
	tableWindow     = "reg_prov_window_offset_cfg"
	tableRetry      = "reg_prov_retry_cfg"
	tableRate       = "reg_prov_rate_limit_cfg"
	tableResponse   = "reg_prov_response_cfg"
	tableBatching   = "reg_prov_batching_cfg"
	tableQuery      = "reg_prov_query_cfg"
	tableCredential = "reg_prov_credential"
	tableParam      = "reg_prov_api_param_map"
	tableField      = "reg_expr_field_dict"
	tableCapability = "reg_prov_expr_capability"
	tableRule       = "reg_prov_expr_render_rule"
)

func listTables() []string {
	return []string{
		tableSource, tableEndpoint, tableHTTP, tablePaging, tableWindow, tableRetry, tableRate, tableResponse, tableBatching,
		tableQuery, tableCredential, tableParam, tableField, tableCapability, tableRule,
	}
}

// storage is how a value lies in its column.
type storage int

const (
	asText    storage = iota
	asJSON            // a list or a whole map
	asInteger         // a whole number
	asNumber
	asFlag
	asMillis  // a duration in whole milliseconds
	asSeconds // a duration in whole seconds
	asSpan    // a duration as number and unit, in two columns
	asRetries // attempts less the first
)

// column ties a path of a level to a column. A value that does not fit its
// column exactly is kept in extra_json, so nothing is lost on the way.
type column struct {
	path  string // in a table with a key: below the entry
	table string
	name  string
	as    storage
	width int // of text, in characters; 0 is any
}

func (c column) keyPath() Path { return strings.Split(c.path, ".") }

// unitColumn returns the second column of a span.
func (c column) unitColumn() string { return strings.TrimSuffix(c.name, "value") + "unit_code" }

// sourceColumns hold what a file says about the source as a whole.
func sourceColumns() []column {
	return []column{
		{"source", tableSource, "provenance_code", asText, 64},
		{"name", tableSource, "provenance_name", asText, 128},
		{"docs", tableSource, "docs_url", asText, 512},
		{"http.baseUrl", tableSource, "base_url_default", asText, 512},
	}
}

// narrowColumns hold what an endpoint or an operation says.
func narrowColumns() []column {
	return []column{
		{"role", tableEndpoint, "endpoint_usage_code", asText, 32},
		{"supports", tableEndpoint, "supported_operations_json", asJSON, 0},
		{"http.baseUrl", tableHTTP, "base_url_override", asText, 512},
	}
}

// sectionColumns stand at every level. Names are those of the first schema
// where it had one.
func sectionColumns() []column {
	return []column{
		{"request.method", tableEndpoint, "http_method_code", asText, 8},
		{"request.path", tableEndpoint, "path_template", asText, 512},
		{"request.query", tableEndpoint, "default_query_params", asJSON, 0},
		{"auth.credential", tableEndpoint, "credential_hint_name", asText, 64},
		{"auth.required", tableEndpoint, "is_auth_required", asFlag, 0},

		{"http.headers", tableHTTP, "default_headers_json", asJSON, 0},
		{"http.connectTimeout", tableHTTP, "timeout_connect_millis", asMillis, 0},
		{"http.readTimeout", tableHTTP, "timeout_read_millis", asMillis, 0},
		{"http.timeout", tableHTTP, "timeout_total_millis", asMillis, 0},
		{"http.proxy", tableHTTP, "proxy_url_value", asText, 512},
		{"retry.retryAfterCap", tableHTTP, "retry_after_cap_millis", asMillis, 0},

		{"paging.type", tablePaging, "pagination_mode_code", asText, 32},
		{"paging.size", tablePaging, "page_size_value", asInteger, 0},
		{"paging.maxPages", tablePaging, "max_pages_per_execution", asInteger, 0},
		{"paging.base", tablePaging, "start_page_number", asInteger, 0},
		{"paging.initial", tablePaging, "initial_cursor_value", asText, 256},
		{"response.nextToken", tablePaging, "next_cursor_jsonpath", asText, 512},
		{"response.nextUrl", tablePaging, "next_url_jsonpath", asText, 512},
		{"response.hasMore", tablePaging, "has_more_jsonpath", asText, 512},
		{"response.total", tablePaging, "total_count_jsonpath", asText, 512},

		{"window.mode", tableWindow, "window_mode_code", asText, 16},
		{"window.size", tableWindow, "window_size_value", asSpan, 0},
		{"window.align", tableWindow, "calendar_align_to", asText, 16},
		{"window.lookback", tableWindow, "lookback_value", asSpan, 0},
		{"window.safetyLag", tableWindow, "watermark_lag_seconds", asSeconds, 0},
		{"window.maxWindow", tableWindow, "max_window_span_seconds", asSeconds, 0},
		{"filter.field", tableWindow, "default_date_field_name", asText, 64},
		{"filter.format", tableWindow, "offset_date_format", asText, 64},

		{"retry.maxAttempts", tableRetry, "max_retry_times", asRetries, 0},
		{"retry.initialDelay", tableRetry, "initial_delay_millis", asMillis, 0},
		{"retry.maxDelay", tableRetry, "max_delay_millis", asMillis, 0},
		{"retry.multiplier", tableRetry, "exp_multiplier_value", asNumber, 0},
		{"retry.jitter", tableRetry, "jitter_factor_ratio", asNumber, 0},
		{"retry.retryStatus", tableRetry, "retry_http_status_json", asJSON, 0},
		{"retry.giveUpStatus", tableRetry, "giveup_http_status_json", asJSON, 0},

		{"rate.perSecond", tableRate, "rate_tokens_per_second", asNumber, 0},
		{"rate.burst", tableRate, "burst_bucket_capacity", asInteger, 0},
		{"rate.concurrency", tableRate, "max_concurrent_requests", asInteger, 0},
		{"rate.obeyHeaders", tableRate, "respect_server_rate_header", asFlag, 0},

		{"response.format", tableResponse, "body_format_code", asText, 16},
		{"response.items", tableResponse, "items_jsonpath", asText, 512},
		{"response.id", tableResponse, "id_jsonpath", asText, 512},
		{"response.idCase", tableResponse, "id_case_code", asText, 16},
		{"response.updatedAt", tableResponse, "updated_at_jsonpath", asText, 512},
		{"response.filtered", tableResponse, "filtered_jsonpath", asText, 512},
		{"response.zone", tableResponse, "zone_name", asText, 64},
		{"response.version", tableResponse, "version_jsonpath", asText, 512},
		{"response.mustHave", tableResponse, "must_have_json", asJSON, 0},
		{"response.emptyWhen", tableResponse, "empty_when_json", asJSON, 0},
		{"response.errorWhen", tableResponse, "error_when_json", asJSON, 0},
		{"response.volatile", tableResponse, "volatile_json", asJSON, 0},
		{"response.fields", tableResponse, "fields_json", asJSON, 0},
		{"response.required", tableResponse, "required_json", asJSON, 0},
		{"response.maxRejectRate", tableResponse, "max_reject_ratio", asNumber, 0},

		{"details.endpoint", tableBatching, "detail_endpoint_name", asText, 64},
		{"details.batchSize", tableBatching, "detail_fetch_batch_size", asInteger, 0},
		{"details.maxIds", tableBatching, "max_ids_per_request", asInteger, 0},

		{"query.where", tableQuery, "where_text", asText, 0},
		{"query.maxLength", tableQuery, "max_query_length", asInteger, 0},
		{"query.maxParams", tableQuery, "max_param_count", asInteger, 0},
		{"templates.functions", tableQuery, "template_functions_json", asJSON, 0},
		{"templates.nullPolicy", tableQuery, "null_policy_code", asText, 16},
	}
}

// extraTable returns where a value without a column is kept.
func extraTable(section string, sc scope) string {
	switch section {
	case "http":
		return tableHTTP
	case "paging":
		return tablePaging
	case "window", "filter", "slicing":
		return tableWindow
	case "retry":
		return tableRetry
	case "rate":
		return tableRate
	case "response":
		return tableResponse
	case "details":
		return tableBatching
	case "query", "params", "templates":
		return tableQuery
	case "request", "auth":
		return tableEndpoint
	}
	if sc.isSource() {
		return tableSource
	}
	return tableEndpoint
}

package dictionary

// Lists of the configuration tables.
func registryTypes() []Type {
	return []Type{
		closedType("http_method", "HTTP method", "GET* POST PUT PATCH DELETE HEAD OPTIONS"),
		customType("endpoint_usage", "What an endpoint is for", "SEARCH* DETAIL FILE LISTING METRICS BATCH AUTH HEALTH").
			addAliases(legacy1, "FETCH=DETAIL"),
		customType("pagination_mode", "How an upstream pages", "OFFSET PAGE TOKEN* URL TIME ONE").
			addAliases(legacy1, "PAGE_NUMBER=PAGE CURSOR=TOKEN SCROLL=TOKEN"),
		customType("window_mode", "Window mode", "SLIDING* CALENDAR"),
		customType("time_unit", "Unit of time", "SECOND MINUTE HOUR DAY*"),
		customType("bucket_granularity_scope", "What a rate limit counts", "GLOBAL* PER_KEY PER_ENDPOINT PER_IP PER_TASK").
			addAliases(legacy1, "CREDENTIAL=PER_KEY ENDPOINT=PER_ENDPOINT IP=PER_IP TASK=PER_TASK"),
		customType("inbound_location", "Where a credential travels", "HEADER* QUERY BODY COOKIE PATH"),
		closedType("lifecycle_status", "Life cycle of a setting", "DRAFT ACTIVE* DEPRECATED RETIRED").
			addAliases(legacy1, "PUBLISHED=ACTIVE"),
		customType("param_merge_strategy", "Merging of parameters", "OVERRIDE* UNION REMOVE_NULLS"),
	}
}

// Lists of the expression tables.
func expressionTypes() []Type {
	return []Type{
		closedType("reg_data_type", "Type of a query field", "DATE DATETIME NUMBER TEXT KEYWORD BOOLEAN TOKEN*"),
		closedType("reg_cardinality", "Values of a query field", "SINGLE* MULTI"),
		closedType("reg_expr_op", "Operator of a condition", "TERM* IN RANGE EXISTS TOKEN"),
		closedType("reg_range_kind", "Kind of a range", "NONE* DATE DATETIME NUMBER"),
		closedType("reg_match_type", "Matching of a term", "PHRASE* EXACT ANY"),
		closedType("reg_emit_type", "What a rule yields", "QUERY* PARAMS"),
		closedType("reg_value_type", "Type of the values a rule is for", "STRING* DATE DATETIME NUMBER"),
		closedType("reg_rule_bounds", "What the bounds of a rendered range mean to the upstream", "INCLUSIVE* HALF_OPEN"),
		closedType("expr_node", "Node of a query", "AND OR NOT CONST ATOM*"),
		closedType("expr_boundary", "Does a range of a query include its end", "CLOSED* OPEN"),
		closedType("expr_case", "Does a term of a query heed case", "INSENSITIVE* SENSITIVE"),
		customType("reg_transform", "Transform of a parameter value",
			"IDENTITY* TO_EXCLUSIVE_MINUS_1D PUBMED_DATETYPE LIST_JOIN FILTER_JOIN LOWER UPPER"),
	}
}

// Lists the earlier schemas had no type for, but source files need.
func sectionTypes() []Type {
	return []Type{
		closedType("calendar_align", "Boundaries of a calendar window", "MINUTE HOUR* DAY WEEK MONTH"),
		closedType("date_precision", "Finest instant of a date filter", "SECOND MINUTE HOUR DAY* MONTH YEAR"),
		closedType("list_order", "Which way a list is sorted by the followed date", "ASC* DESC"),
		closedType("file_packing", "How a file is packed", "NONE* GZIP ZIP ZSTD TAR TAR_GZIP"),
		closedType("file_take", "Which files of a set have to be read", "ALL* NEWEST"),
		closedType("filter_bounds", "Which ends of a window a request can name", "BOTH* FROM UNIT NONE"),
		closedType("bound", "Is the end of a range part of it", "INCLUSIVE* EXCLUSIVE"),
		closedType("id_case", "Case of identifiers", "KEEP* LOWER"),
		closedType("replaces", "What a repeated reading replaces besides records with the same id", "NOTHING* LIST WINDOW"),
		closedType("credential_type", "Kind of a credential", "API_KEY* BEARER BASIC OAUTH2 SESSION CUSTOM JWT POOL"),
		closedType("oauth_grant", "What tokens are asked for with", "CLIENT_CREDENTIALS* REFRESH_TOKEN PASSWORD JWT_BEARER"),
		closedType("oauth_client_auth", "How a client proves who it is", "BASIC* BODY JWT"),
		closedType("jwt_alg", "How a JWT is signed", "RS256* PS256 ES256 EDDSA HS256"),
		closedType("sign_part", "Line of a text that is signed", "METHOD* HOST PATH QUERY TIMESTAMP KEY_ID BODY_SHA256"),
		closedType("sign_timestamp", "How the time of a signature is written", "UNIX* UNIX_MILLIS RFC3339 HTTP_DATE"),
		closedType("sign_encoding", "How a signature is written", "HEX* BASE64"),
		closedType("missing_detail", "What becomes of a found id without a detail", "RECHECK* QUARANTINE GONE"),
		closedType("missing_record", "What becomes of a stored record the upstream no longer has", "GONE* QUARANTINE"),
		closedType("null_policy", "What becomes of a parameter without a value", "OMIT* EMPTY FAIL"),
		closedType("retry_wait_form", "What a header that asks to wait holds", "SECONDS* MILLIS DATE EPOCH EPOCH_MILLIS"),
		closedType("body_format", "Format of an answer", "JSON* XML JSONL CSV TEXT"),
		closedType("entity_names", "Names that characters of XML have", "XML* HTML"),
	}
}

// Lists of the ingest tables (D§5.3). States that have no counterpart of the
// same meaning are aliases of the state a task would be in today.
func ingestTypes() []Type {
	return []Type{
		closedType("ing_scheduler", "Who schedules", "INTERNAL* CLI API XXL QUARTZ SPRING"),
		closedType("ing_trigger_type", "Who asked for a plan", "SCHEDULE* MANUAL API RETRY"),
		closedType("ing_operation", "What a plan is for", "HARVEST* BACKFILL UPDATE METRICS"),
		closedType("ing_slice_strategy", "How a window is cut", "TIME* ID_RANGE CURSOR_LANDMARK VOLUME_BUDGET HYBRID").
			addAliases(legacy2, "DATE=TIME SINGLE=TIME"),
		closedType("ing_estimate_source", "Where an estimate comes from", "COUNT HISTORY FIRST_PAGE CONSTANT*"),
		closedType("ing_id_range_kind", "What the bounds of an id range are", "HASH_BUCKET* ID HASH NUMBER"),
		closedType("ing_plan_status", "State of a plan", "DRAFT* SLICING READY PARTIAL FAILED CANCELLED COMPLETED").
			addAliases(legacy1, "ABORTED=CANCELLED").addAliases(legacy2, "ARCHIVED=COMPLETED"),
		closedType("ing_slice_status", "State of a slice", "PENDING* READY SUCCEEDED FAILED PARTIAL CANCELLED").
			addAliases(legacy1, "DISPATCHED=READY EXECUTING=READY").addAliases(legacy2, "ASSIGNED=READY FINISHED=SUCCEEDED"),
		closedType("ing_task_status", "State of a task",
			"SCHEDULED QUEUED* DISPATCHED EXECUTING SUCCEEDED FAILED PARTIAL CANCELLED").
			addAliases(legacy1, "RUNNING=EXECUTING").addAliases(legacy2, "PENDING=SCHEDULED RUNNING=EXECUTING"),
		closedType("ing_task_run_status", "State of a run", "PLANNED* RUNNING SUCCEEDED FAILED PARTIAL CANCELLED").
			addAliases(legacy2, "PENDING=PLANNED"),
		closedType("ing_reslice_status", "State of a request to cut a slice smaller", "PENDING* DONE DECLINED"),
		closedType("ing_batch_status", "State of a batch", "RUNNING* SUCCEEDED FAILED SKIPPED"),
		closedType("ing_namespace_scope", "Namespace of a cursor", "GLOBAL EXPR* CUSTOM"),
		closedType("ing_cursor_type", "What a cursor holds", "TIME* ID TOKEN"),
		closedType("ing_source_state", "State of a source or a part of it", "PAUSED*"),
		closedType("ing_source_change", "What was changed after a source failed", "RESUMED* SECRET SUPERSEDED"),
		closedType("ing_campaign_state", "State of a backfill campaign", "ACTIVE* PAUSED CANCELLED COMPLETED"),
		closedType("ing_campaign_order", "Which end of its range a campaign begins at", "NEWEST* OLDEST"),
		closedType("ing_update_policy", "How an update chooses what it looks at", "TIME STALE* EXPR SIGNAL QUARANTINE"),
		closedType("ing_signal_kind", "Why a record was named", "RETRACTION MERGE MISSING_FIELD REQUESTED* QUARANTINED MISSING"),
		closedType("ing_signal_status", "What became of a signal", "OPEN* DONE FAILED NOT_FOUND"),
		closedType("ing_archive_kind", "What a file of history holds", "EVENTS* PLANS"),
		closedType("ing_damage_kind", "What patra db check finds damaged", "PAGES* BODY HEAD COUNT CURSOR REJECT MISSING"),
		closedType("ing_archive_status", "State of a file of history", "WRITING* SEALED DONE"),
		closedType("ing_cursor_direction", "Direction of a cursor event", "FORWARD* BACKFILL"),
	}
}

// Lists of what happened and why.
func eventTypes() []Type {
	return []Type{
		closedType("ing_audit_problem", "What is wrong with the audit log", "EDITED* MISSING LOST NO_HEAD UNREADABLE"),
		closedType("ing_cursor_event_kind", "What a cursor event says", "PLANNED SUCCEEDED* FAILED WAIVED MANUAL SNAPSHOT"),
		closedType("ing_fingerprint_kind", "What a fingerprint identifies", "EXPR* MAPPING"),
		closedType("ing_record_state", "State of a record", "ACTIVE* GONE"),
		closedType("ing_record_action", "What became of an item", "INSERT UPDATE REMOVE UNCHANGED* TOUCH STALE REMAP MISS"),
		closedType("ing_reject_reason", "Why an item was quarantined",
			"MISSING_ID ID_TOO_LONG BAD_ID BAD_UPDATED_AT MISSING_FIELD ILLEGAL_VALUE ID_REPEATED BAD_ITEM* MAPPING_FAILED ID_COLLISION MISSING_DETAIL DETAIL_FAILED ITEM_FAILED"),
		closedType("ing_quarantine_status", "State of a quarantined item", "OPEN* REQUEUED RESOLVED DISCARDED"),
		closedType("ing_outbox_status", "State of an outgoing message", "PENDING* PUBLISHING PUBLISHED FAILED DEAD SKIPPED"),
		closedType("ing_outbox_fault", "Why a message was not delivered", "UNREACHABLE* REFUSED TOO_LARGE BODY_GONE BEHIND"),
		closedType("ing_relay_status", "How an attempt to deliver messages ended", "PUBLISHED* DEFERRED FAILED"),
		closedType("ing_outbox_op", "What a message tells of a record", "INSERTED* UPDATED REMOVED"),
		closedType("ing_alert_state", "State of an alert", "PENDING* OPEN RESOLVED CLOSED"),
		closedType("ing_alert_kind", "Why a message about alerts is sent", "FIRING* REPEATED RESOLVED TRIAL"),
		closedType("ing_alert_delivery", "State of a message about alerts", "QUEUED* SENT GIVEN_UP DISCARDED"),
		closedType("ing_export_kind", "What an export that was asked for holds", "DATA* BLACK_BOX"),
		closedType("ing_export_status", "State of an export that was asked for", "QUEUED* RUNNING SUCCEEDED FAILED CANCELLED"),
		closedType("ing_generation_state", "What became of a reading of a whole list", "READING* COMPLETE SHRUNK BROKEN ACCEPTED"),
		closedType("ing_count_verdict", "How counts of an upstream compared with what was read", "OK* SHORT MORE UNKNOWN"),
		closedType("ing_finding_severity", "How much a finding matters", "CRITICAL WARNING* NOTICE"),
		closedType("ing_gate_decision", "What the rate gate answers", "ALLOW* WAIT REJECT"),
		closedType("ing_gate_reason", "Why a request may not leave", "OVER_DEADLINE* QUOTA COOLING CLOSED_HOURS BREAKER REQUEST_LIMIT"),
		closedType("ing_gate_outcome", "What the rate gate hears of a request", "OK* THROTTLED FAILED REFUSED"),
		closedType("ing_health_condition", "What is wrong with a partition", `THROTTLED HELD SLOW* FAILING RUNS_FAILING UPSTREAM_DOWN HEAVY_PAGES PAGE_TOO_LARGE
			POISON_PAGE TOO_DEEP ESTIMATE_OFF OVER_BUDGET LATE_ARRIVALS STORE_BUSY OVERSTOCKED DEAD_TASKS BAD_ITEM FATAL`),
		closedType("ing_health_action", "What is done about it automatically", `LOWER_RATE* LOWER_CONCURRENCY SHRINK_PAGE RAISE_LAG RESLICE OPEN_CIRCUIT
			PAUSE_PLANNING SET_ASIDE STOP_SOURCE`),
		closedType("ing_breaker_state", "What an endpoint in trouble is allowed", "CLOSED* OPEN HALF_OPEN"),
		closedType("ing_fault_level", "How far a fault reaches", "L1* L2 L3 L4"),
		closedType("ing_fault_code", "What went wrong", `NETWORK RATE_LIMITED SERVER_ERROR BAD_REQUEST UNAUTHORIZED BAD_BODY TOO_LARGE
			RENDER TOKEN_LOST TOKEN_LOOP UNSTABLE SCHEMA_CHANGE SHORT_COUNT REJECT_RATE CAPPED BUDGET NO_END SHRUNK FILES_LISTED POISON_PAGE MASS_GONE REFUSED PART_REFUSED INTERNAL* ATTEMPTS LEASES_SPENT REQUEST_LIMIT INTERRUPTED LEASE_EXPIRED STORE_BUSY STORE_FULL`),
	}
}

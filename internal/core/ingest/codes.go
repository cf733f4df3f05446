package ingest

// TriggerType says who asked for a plan.
type TriggerType string

// Trigger types.
const (
	TriggerSchedule TriggerType = "SCHEDULE"
	TriggerManual   TriggerType = "MANUAL"
	TriggerAPI      TriggerType = "API"
	TriggerRetry    TriggerType = "RETRY"
)

// NamespaceScope separates cursors of different meaning (D§5.8).
type NamespaceScope string

// Namespace scopes.
const (
	ScopeGlobal NamespaceScope = "GLOBAL"
	ScopeExpr   NamespaceScope = "EXPR"
	ScopeCustom NamespaceScope = "CUSTOM"
)

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

// Ways by which plans are asked for (ing_scheduler). Outside schedulers have codes of their
// own, so these are texts.
const (
	SchedulerInternal = "INTERNAL" // a schedule of ours, or the next part of a campaign
	SchedulerCLI      = "CLI"
	SchedulerAPI      = "API" // the HTTP interface or the dashboard; the actor is the token
)

// NamespaceScope separates cursors of different meaning (D§5.8).
type NamespaceScope string

// Namespace scopes.
const (
	ScopeGlobal NamespaceScope = "GLOBAL"
	ScopeExpr   NamespaceScope = "EXPR"
	ScopeCustom NamespaceScope = "CUSTOM"
)

package look

// RestartedIn and RestartedOf find runs of plans that may have started over.
var (
	RestartedIn = restartedIn
	RestartedOf = restartedOf
)

// PageOf selects the ids of a page of a list.
var PageOf = pageOf

// IdlePlansSQL finds plans that nobody takes.
const IdlePlansSQL = idlePlans

// HarvestStartsSQL finds when harvests were planned.
const HarvestStartsSQL = harvestStarts

// CountRejectGroups counts the undecided groups of datasets.
var GroupRejects = groupRejects

// NewRejectsSQL counts what came into quarantine lately.
const NewRejectsSQL = newRejects

// Of sums and watermarks, and the plans that are open.
const (
	ErrorSumSQL         = errorSums
	DifferingCursorsSQL = differingCursors
	PlansWithTasksSQL   = plansWithTasks
	EventsSQL           = eventColumns
)

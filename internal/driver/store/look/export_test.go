package look

// PageOf selects the ids of a page of a list.
var PageOf = pageOf

// IdlePlansSQL finds plans that nobody takes.
const IdlePlansSQL = idlePlans

// HarvestStartsSQL finds when harvests were planned.
const HarvestStartsSQL = harvestStarts

// NewRejectsSQL counts what came into quarantine lately.
const NewRejectsSQL = newRejects

// Of sums, watermarks, and runs that started over.
const (
	ErrorSumSQL         = errorSums
	DifferingCursorsSQL = differingCursors
	RestartedOpenSQL    = restartedOpen
	RestartedOfPlanSQL  = restartedOfPlan
	EventsSQL           = eventColumns
)

package registry

// FillPriority gives tasks their place in the queue and at the rate gate, if the source and
// the run name none. Like the contact it is of the weakest level.
func (r *Resolved) FillPriority(priority int, from string) {
	if r.Slicing.Priority != 0 || priority == 0 {
		return
	}
	r.Slicing.Priority = priority
	r.merged.leaves.addLeaf(Leaf{Path: Path{"slicing", "priority"}, Value: priority, Level: LevelPlatform, At: Position{File: from}, home: "slicing.priority"})
	r.merged.list = r.merged.leaves.sortLeaves()
}

// Package sector names the parts of a list that are asked for one by one: the `partitions` of a source file. In the code
// such a part is a sector, because a partition is a dataset and an operation there. It lists the sectors of a source, names
// them, and decides what of a window is read when slices of its sectors end.
//
// Before it stands the registry, after it the planner and the store. It must never call a window read while a sector of it
// is not (D§5.26), do I/O or read a clock.
package sector

package blackbox

// ChangedFields tells what differs between the mapped fields of two versions,
// member by member.
func ChangedFields(was, is []byte) []FieldChange { return changedFields(was, is) }

package registry

// filled is a contact that the installation gives where the source has none.
type filled struct{ email, from string }

// FillContact gives the upstream an address to write to, if the source names none:
// who runs a source is no part of a file that is shared. It is the weakest level,
// and reaches the second step too.
func (r *Resolved) FillContact(email, from string) {
	r.contact = filled{email, from}
	if r.Contact.Email != "" || email == "" {
		return
	}
	r.Contact.Email = email
	r.merged.leaves.addLeaf(Leaf{Path: Path{"contact", "email"}, Value: email, Level: LevelPlatform, At: Position{File: from}, home: "contact.email"})
	r.merged.list = r.merged.leaves.sortLeaves()
}

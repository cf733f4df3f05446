package upsim

// SetGap opens a gap in the records by id: those it names are left out of answers as
// if the server had never had them, while lists go on naming them. It closes again
// with nil. A real detail index is like that while it is built anew.
func (s *Server) SetGap(lacks func(id string) bool) {
	s.forms.mu.Lock()
	defer s.forms.mu.Unlock()
	s.forms.gap = lacks
}

// inGap reports whether an id is left out now.
func (s *Server) inGap(id string) bool {
	s.forms.mu.Lock()
	defer s.forms.mu.Unlock()
	return s.forms.gap != nil && s.forms.gap(id)
}

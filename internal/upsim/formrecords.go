package upsim

import "slices"

// answerRecords answers a request for works by id. Unknown ids are no error: they are
// left out, or named where the options want it.
func (s *Server) answerRecords(req request, f Fault) answer {
	q := req.form.query
	out := sheet{query: q, total: -1}
	for i, id := range q.ids {
		it, ok := s.data.lookUpDOI(id)
		ok = ok && !s.inGap(id)
		held := f.Kind == FaultWithhold && (id == f.ID || f.ID == "" && i == 0)
		switch {
		case !ok && s.opts.Forms.ListMissing:
			out.absent = append(out.absent, id)
		case ok && !held && !slices.Contains(out.items, it):
			out.items = append(out.items, it)
		}
	}
	if s.currentLies().OtherRecords {
		out.items = s.data.otherWorks(out.items)
	}
	out.spoil = s.chooseVictim(req, len(out.items), func(i int) item { return out.items[i] }, f.Kind)
	return s.writePage(out)
}

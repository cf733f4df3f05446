package export

import "testing"

// What a spreadsheet may take for a formula gets a guard, also where the sign is in
// another width or stands behind what the spreadsheet skips (A26).
func TestTrust08CellsThatASpreadsheetWouldRun(t *testing.T) {
	const run = `HYPERLINK("http://evil.example")`
	for _, before := range []string{"", " ", "   ", "\ufeff", " \ufeff ", "\u00a0", "\u3000", "\u200b", "\x00", "\v"} {
		for _, sign := range []string{"=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦", "﹢", "﹣", "﹫", "\t", "\r", "\n"} {
			l := NewLines(Form{Format: CSV})
			if got := string(l.appendCell(nil, []byte(before+sign+run))); got[:2] != `"'` {
				t.Errorf("%q behind %q: %s", sign, before, got)
			}
			l = NewLines(Form{Format: CSV, RawCells: true})
			if got := string(l.appendCell(nil, []byte(before+sign+"1"))); got[0] == '\'' || len(got) > 1 && got[:2] == `"'` {
				t.Errorf("%q behind %q is changed though nobody wants a guard: %s", sign, before, got)
			}
		}
	}
	for _, honest := range []string{"", " ", "title", " title", "\ufefftitle", "a=b", "(=1)", "日本", "é", "'=1"} {
		if isFormula([]byte(honest)) {
			t.Errorf("%q is taken for a formula", honest)
		}
	}
}

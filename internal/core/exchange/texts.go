package exchange

import "encoding/json"

// Texts are the values of one parameter: most have one, and a parameter with several is
// sent once for each, in their order. One value is written without brackets, in files and
// in snapshots, so that a parameter with one is what it always was.
type Texts []string

// MarshalJSON writes one value as a text.
func (t Texts) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// UnmarshalJSON reads a text or a list of texts.
func (t *Texts) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = Texts{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

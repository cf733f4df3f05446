package config

// Work is how much a process of this installation does at once, and how much it plans
// ahead. How much one source may be asked is in its own file.
type Work struct {
	Workers    int `json:"workers,omitempty" doc:"slices a process works on at once, where --workers does not say so (default 4)"`
	MaxWaiting int `json:"maxWaiting,omitempty" doc:"tasks of one source, endpoint and operation that may wait before planning pauses (default 20000)"`
}

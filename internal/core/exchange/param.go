package exchange

// Param is one entry of `params`: where a standard key, as rules of the query
// section emit it, goes in a request (§3.4). The key `query` is the query text.
type Param struct {
	Name      string `json:"name" required:"true" doc:"the upstream's own name of the parameter"`
	In        string `json:"in,omitempty" enum:"QUERY,HEADER,BODY" doc:"where it travels (default QUERY)"`
	Default   string `json:"default,omitempty" doc:"value when nothing was emitted; may hold ${…}"`
	Required  bool   `json:"required,omitempty" doc:"a request without it is refused"`
	Transform string `json:"transform,omitempty" doc:"code of reg_transform applied to the value"`
}

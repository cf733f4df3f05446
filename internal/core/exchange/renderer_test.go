package exchange

// NewRenderer is Compile for an endpoint without parameters and with every function.
func NewRenderer(http Config, request RequestConfig) (*Renderer, error) {
	return Compile(Parts{HTTP: http, Request: request})
}

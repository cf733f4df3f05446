package transport

// Stack builds the chain above a client for requests without credentials.
func Stack(client Sender, permits Permits) Doer {
	return retry{redirects{gated{evidence{unsigned{client}}, permits, nil}}, newAnswered()}
}

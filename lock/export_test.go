package lock

// Closing is closed when the client has begun to refuse calls.
func (c *Client) Closing() <-chan struct{} { return c.closing }

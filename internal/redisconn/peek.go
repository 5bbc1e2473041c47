package redisconn

// nothingThere is the error of a read that does not block. TLS takes the error for a passing one, so
// that its connection lives on.
type nothingThere struct{}

func (nothingThere) Error() string   { return "nothing is there to read" }
func (nothingThere) Timeout() bool   { return true }
func (nothingThere) Temporary() bool { return true }

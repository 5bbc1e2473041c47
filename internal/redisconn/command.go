package redisconn

// A Command is one command for Redis.
type Command struct {
	Name string
	Args []any
	// Fits reports whether a reply, which is no error, can be one to the command with these
	// arguments. If Fits is nil, any reply can.
	Fits func(args []any, reply any) bool
}

// Cmd returns the command with these arguments. Any reply fits.
func Cmd(name string, args ...any) Command { return Command{Name: name, Args: args} }

// fits reports whether the reply can be one to the command.
func (c *Command) fits(reply any) bool { return c.Fits == nil || c.Fits(c.Args, reply) }

// isOK fits commands that have nothing to say.
func isOK(_ []any, reply any) bool { return reply == "OK" }

func isPong(_ []any, reply any) bool { return reply == "PONG" }
func isInt(_ []any, reply any) bool  { _, ok := reply.(int64); return ok }
func isBulk(_ []any, reply any) bool { _, ok := reply.([]byte); return ok }

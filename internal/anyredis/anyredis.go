// Package anyredis finds a Redis for programs that show something on any machine: the demo and the
// examples. The first of these is used:
//
//  1. the server that REDIS_URL names;
//  2. a private redis-server or valkey-server from PATH, on a unix socket;
//  3. miniredis inside this process, on a loopback port, with its clock running.
//
// What the last two start ends with the program. Of a server at REDIS_URL nothing is touched but
// the keys under [Redis.Prefix].
package anyredis

import "time"

// Variable is the environment variable with the URL of the server to use. A program that found a
// server hands it to its child processes in this variable. A URL can have a password, and anybody
// can read a command line.
const Variable = "REDIS_URL"

// limit bounds everything that this package does with a server.
const limit = 5 * time.Second

// A Redis is a server that was found, or started. Close it at the end.
type Redis struct {
	URL    string // for lock.Open
	About  string // which one it is, in one line, without its password
	Prefix string // for lock.Options: no other program's keys begin with it

	stop func() error
}

// Close ends a server that Find started, and deletes this program's keys from any other. Everybody
// who uses them must have ended before.
func (r *Redis) Close() error { return r.stop() }

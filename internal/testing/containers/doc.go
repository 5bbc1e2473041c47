// Package containers runs Redis in Docker, and tests the library on it: the contract of package lock,
// and the faults that only a container can have. It is a module of its own, because what speaks to
// Docker would weigh on the go.sum of everybody who uses the library.
//
// A container is made of the official image. Where no registry answers, it is made of this machine's
// own redis-server. Tests are skipped where there is no Docker.
package containers

// Package sim is a simulator, made of tests only: whole clusters of clients of package lock, with
// miniredis as their store, in a synctest bubble each, where minutes pass in milliseconds. A seed
// decides a program, which is everything that the clients do and everything that happens to them;
// what came of it is judged by checkers that know nothing of how the library works.
//
//	go test ./internal/testing/sim -run TestSim -programs 10000       many programs, from -from (1) on
//	go test ./internal/testing/sim -run TestSim -seed 4711 -v         one of them, with its trace
//
// # What is checked
//
//   - Beliefs in one lock do not overlap. A belief begins when a lease is returned and ends with the
//     first of: Unlock or Detach is called, the lease's Done is closed. Leases that lost their lock to
//     an accident which breaks an assumption of the library are excused from then on: memory of the
//     store that was lost, its clock stepped forward, Seize, Reset, Adopt with KeepID.
//   - Fencing tokens of a lock increase from lease to lease in the order of real time, also when the
//     store has lost its memory in between.
//   - Who was robbed of his lock is told within the time of a renewal.
//   - A lock is not held by nobody: under the id of an acquire that failed, or was repeated under another
//     id, or was executed after its lease had been released, for longer than its clean-up takes.
//   - A lock that is free in the store while a live, connected client waits for it is taken within 1 s
//     and one operation limit of the last accident; without any, within some round trips of a release.
//   - What is written on a connection that was closed in a cut of some seconds is not executed: where the
//     store lets one client end another's connection (CLIENT KILL), or where connections are reset. Where
//     neither works it arrives up to 108 s later, and is undone by the next late clean-up.
//   - Every call ends within its limit, and Close within the margin and one operation limit.
//   - No lease is lost in a program without accidents. MaxHold and HoldAtLeast are kept.
//   - No renewal is written after Unlock has returned, and nobody waits for an acquire of his own.
//   - When everything has ended and every TTL is over, nothing is left in the store but locks without
//     expiry that were detached, and no goroutine is left: the bubble would tell.
//
// # What a seed decides
//
// Operations, their times, and all accidents. It does not decide which of several goroutines that are
// ready at the same virtual instant runs first, nor the jitter with which the library repeats what
// failed (math/rand/v2 cannot be seeded from outside), nor the random part of ids. So a replay runs
// the seed up to -repeat times, until it fails. Goroutines cannot be stopped in a bubble: a pause of a
// client is that all its input and output is held.
//
// All clients share the bubble's clock, and the store's may run faster or slower, up to the rate that the
// margin is there for. Since clients meet in the store only, that is as if their own ran slower or
// faster. Steps of a client's own clock are tested in package renewal.
package sim

// Package engine makes acquisitions, whatever is acquired: it asks, waits, holds, gives back and
// cleans up.
//
// What is asked for is a [Target]: one lock by its name ([Named]), any one of many, and whatever
// comes. A target says how to ask for it under an owner id, where one waits for it, and what is to
// be cleaned up if the outcome is not known. The engine does the rest, alike for all of them:
//
//	Engine.Lock      asks, and waits in the queue of package signal while somebody else holds it
//	attempt          has the id of an acquire, keeps the one in doubt, and repeats it under the same id
//	Lease            is held: package renewal keeps it fresh, and ends it in time
//	Lease.Release    gives it back; what is not known of that is left to the janitor
//	janitor          sees, in the background, to what nobody uses any more
//	Engine.Close     ends all of it
//
// The arrows between its files run one way: from close.go, acquire.go and block.go at the top, by
// way of wait.go and attempt.go, to lease.go and what a lease does, and to core.go, which all of
// them share.
//
// The engine speaks to Redis by package store alone. Its errors are the sentinels of package lock,
// which are defined here. Where an error carries facts for users, [Words] makes it.
package engine

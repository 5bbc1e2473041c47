//go:build race

package lock_test

// faultCrowd is how many waiters make a crowd: the race detector ends programs with more than 8128
// goroutines.
const faultCrowd = 2000

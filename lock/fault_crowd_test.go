//go:build !race

package lock_test

// faultCrowd is how many waiters make a crowd.
const faultCrowd = 10_000

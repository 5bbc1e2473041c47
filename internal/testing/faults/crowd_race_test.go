//go:build race

package faults_test

// crowd is how many waiters make a crowd: the race detector ends programs with more than 8128
// goroutines.
const crowd = 2000

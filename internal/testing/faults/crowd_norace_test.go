//go:build !race

package faults_test

// crowd is how many waiters make a crowd.
const crowd = 10_000

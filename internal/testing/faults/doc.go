// Package faults does to real servers, processes and connections what the matrix of
// docs/reliability.md lists, and checks what its rows promise. It consists of tests. They stand
// where users stand: they use the public packages, and of the others only those below
// internal/testing. Tests name the rows that they are for.
//
//	go test -race ./internal/testing/faults                       # the short forms: some two minutes
//	go test -run TestFaultHandovers ./internal/testing/faults     # one of them
//	HOLDFAST_TEST_LONG=1 go test -v -timeout 30m ./internal/testing/faults
//	make test RUN=Fault RACE=1                                    # those of other packages as well
//
// HOLDFAST_TEST_LONG asks for the long forms, which make a fault happen over and over: many minutes.
// HOLDFAST_TEST_SEED is for [TestFaultHandovers] and [TestFaultHandoversOfKilled], which print theirs.
//
// # Which row is where
//
//	 1       holder_killed, handovers_killed, beside_python
//	 2       holder_stopped
//	 3       holder_cut_off
//	 4, 5    renewal
//	 6       holder_cut_off, server_hangs
//	 7       acquire, acquire_late
//	 8       acquire_late
//	 9       release, hold_at_least
//	10       woken_dies, woken_many_die, signals, handovers, handovers_killed, beside_python
//	11       cancel, handovers
//	12       signals
//	13, 14   server_restarts
//	15       server_hangs
//	16       passing_states, cluster
//	17       refused, scripts, cluster
//	18       replica, passing_states
//	19       replica
//	20, 21   failover, sentinel
//	22       server_clock
//	24       scripts
//	25       key_taken, lost_hook
//	26       own_pool, crowd
//	27       crowd
//	28       signals
//	29       signals, ghost, handovers
//	30       close
//	32       do
//	33       starved
//	35       renewal
//	36       network_cut
//	37       latency
//	38       repeat_not_sent
//	39       idle_connections
//	41       hostile_replies
//	42       raised_ttl
//	43       centuries
//	44       mixed_crowd
//	45       released_together
//	46       wrong_server
//	47       garbage_collection
//
// Rows 23, 31, 34 and 40 are tested in lock, renewal and internal/redisconn, the containers of some
// rows in internal/testing/containers. Without a row: first_contact, adopted and executed_late.
// liar and relay are what tests of these names need.
//
// Clients, leases and bounds are those of internal/testing/locks, other processes those of
// internal/testing/peer.
package faults

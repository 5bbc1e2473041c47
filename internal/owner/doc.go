// Package owner makes and reads the ids under which locks are held. It knows neither Redis nor
// locks.
//
// An id of holdfast's own is a label and a ULID: "db3:1234/01ARZ3NDEKTSV4RRFFQ69G5FAV". The label
// says who it is to people, the ULID makes it unique, secret and tells since when. [New] makes such
// ids.
//
// An id that a user has chosen may have a label before its last #: "db3#yTq0w7Zk3A". Other programs
// put anything there. [Parse] reads all of them.
//
// The default label, hostname:pid, tells which process took a lock. [Gone] says whether that
// process is still there.
package owner

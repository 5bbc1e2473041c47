// Package parrot is a Redis that says what a test has it say. A [Conn] answers as if every lock were free,
// except that one command, or one script, gets a reply that the test made up. So a test finds out what
// that reply is taken for.
//
// [Make] makes replies out of bytes, for fuzzing, and [Seeds] are bytes that make interesting ones. [Names]
// are names that are hard to handle.
package parrot

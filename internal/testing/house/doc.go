// Package house has tests of the architecture:
//   - which package imports which, and what comes along with one
//   - who makes something of the replies of Redis
//   - what a package has no word of
//   - whether the files of a package form layers, and how large a package may be
//
// The picture in CONTRIBUTING.md is the table of the first test. One line is one package and what it
// imports, the tests aside:
//
//	once  -> lock
//
// A package is further up than what it imports. A name that ends in /... stands for all packages below
// a directory. Arrows between these are not shown. A module of somebody else has a short name.
package house

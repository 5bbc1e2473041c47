// Package doctor looks whether a Redis is fit for locks, and what of it a user may use. It is what
// is behind lock.Client.Check, which says what comes out.
//
// An examination asks everything first, then judges it: each finding is a function of what was
// learnt. What one reason keeps from being found out is told once, and the other findings point to
// that one.
package doctor

// Package store is the only one that speaks to Redis about locks. It knows what keys are called,
// which script does what, and what a reply means. Each question is a method of [Store], and each
// answer is a type of its own. Durations are clamped and converted here, once. Nowhere else is a
// reply taken apart.
//
// Whatever can be held is a [Holding]: it says which script prolongs it, gives it up, and puts a
// signal of it back. The lock of one name is a [Lock]. Other kinds of things bring holdings of
// their own.
//
// Whatever can be waited for is of a [Kind], which says where its signals are and what they tell.
// [Store.Wait] is how package signal sees them all.
//
// docs/wire.md describes keys, values and scripts.
package store

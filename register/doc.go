// Package register keeps numbers in Redis that are set or deleted only if the number stored there
// compares as asked. Such a number is the newest version that was published, the smallest price, or
// the highest fencing token.
//
//	versions := register.New(c, "reports:version") // c is a *lock.Client
//	was, err := versions.SetIf(ctx, register.Less, "42", "42", nil)
//	if err != nil {
//		return err
//	}
//	if !was.Done {
//		return fmt.Errorf("version %s is there already", was.Stored)
//	}
//
// The comparison says how the number that is stored must stand to the given one: [Less] is "set it
// if what is stored is less". What is set need not be what is compared, and has an expiry of its
// own.
//
// # Guarantees
//
//  1. Comparing and setting, or deleting, are one step: nothing comes between them.
//  2. Each call is one round trip to Redis. It is two when Redis has to be told the script's text,
//     as after its restart.
//  3. Numbers are compared exactly, whole or not, whatever their size. 9007199254740993 is more
//     than 9007199254740992, though both are the same float64. See [Number].
//  4. An absent register makes every comparison true.
//  5. What is stored and is no number is an error, [ErrNotNumber], and stays. (redis-allocator has
//     operations like these. It takes such a value for absent and overwrites it.)
//  6. A call that is not known to have been executed is an error that Is [lock.ErrUnknown]. It is
//     not repeated behind the caller's back.
//
// # What it does not promise
//
// A register is as lasting as its Redis. What a restart without persistence, an eviction or a
// failover loses is absent afterwards, and makes every comparison true. [Gate] says what that means
// for fencing tokens.
//
// # Compatibility
//
// The register N is the string key <prefix>lock-reg:N. It holds a decimal number as text, such as
// INCR, Python's str or JavaScript's String write it. Other programs may read and write it. A user
// of Redis's access control needs the keys lock-reg:* and the commands EVAL, EVALSHA, GET, SET, DEL
// and LREM.
package register

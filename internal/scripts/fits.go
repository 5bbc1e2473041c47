package scripts

import (
	"math"
	"strconv"
)

// The functions here say for each script whether a reply can be one to a run of it. Their args are
// those of EVALSHA: the sum, how many keys there are, the keys, and then the script's own. Error
// replies are none of their business.

// keysOf returns how many keys a run has.
func keysOf(args []any) int {
	n, _ := args[1].(int)
	return n
}

// argOf returns the i-th own argument of a run, from 0 on; nil if there is none.
func argOf(args []any, i int) any {
	if i += 2 + keysOf(args); i < len(args) {
		return args[i]
	}
	return nil
}

func isBulk(reply any) bool { _, ok := reply.([]byte); return ok }

func isInt(reply any) bool { _, ok := reply.(int64); return ok }

// word returns a text of the script's own; "" if the reply is none.
func word(reply any) string {
	text, _ := reply.([]byte)
	return string(text)
}

// between reports whether the reply is a number of these.
func between(reply any, least, most int64) bool {
	n, ok := reply.(int64)
	return ok && n >= least && n <= most
}

// isToken reports whether a reply is a fencing token, or 0 for none.
func isToken(reply any) bool {
	text, _ := reply.([]byte)
	_, err := strconv.ParseUint(string(text), 10, 63)
	return err == nil
}

// isTaken reports whether parts are {owner, pttl}.
func isTaken(parts []any) bool { return len(parts) == 2 && isBulk(parts[0]) && isInt(parts[1]) }

// all reports whether a reply is an array in which every element is of a kind.
func all(reply any, is func(any) bool) bool {
	parts, ok := reply.([]any)
	for _, part := range parts {
		ok = ok && is(part)
	}
	return ok
}

func fitsAcquire(args []any, reply any) bool {
	parts, many := reply.([]any)
	if !many {
		return isToken(reply)
	}
	must, _ := argOf(args, 4).(string)
	return isTaken(parts) || len(parts) == 0 && must != ""
}

func fitsAcquireAny(args []any, reply any) bool {
	parts, ok := reply.([]any)
	members := int64(len(args) - 2 - keysOf(args) - 4)
	switch len(parts) {
	case 0:
		return ok
	case 2:
		return between(parts[0], 1, members) && isToken(parts[1])
	case 4:
		return parts[0] == int64(0) && isTaken(parts[1:3]) && between(parts[3], 0, 1)
	}
	return false
}

func fitsExtend(_ []any, reply any) bool {
	parts, _ := reply.([]any)
	if len(parts) != 3 || !isTaken(parts[1:]) {
		return false
	}
	owner, pttl := parts[1].([]byte), parts[2].(int64)
	switch word(parts[0]) {
	case "ours", "bare":
		return len(owner) == 0 && pttl >= -1
	case "other":
		return pttl >= -1
	case "free":
		return len(owner) == 0 && pttl == -2
	}
	return false
}

func fitsLook(args []any, reply any) bool {
	parts, ok := reply.([]any)
	if argOf(args, 0) == "wake" {
		return ok && len(parts) == 0
	}
	return all(reply, leftOr("foreign")) && len(parts) == keysOf(args)-1
}

func fitsLookAny(_ []any, reply any) bool { return all(reply, leftOr("others")) }

// leftOr is for what a look says of one lock: its PTTL, or this word.
func leftOr(other string) func(any) bool {
	return func(left any) bool { return between(left, -2, math.MaxInt64) || word(left) == other }
}

func fitsOwner(_ []any, reply any) bool {
	parts, ok := reply.([]any)
	return isTaken(parts) || ok && len(parts) == 0
}

func fitsPoolAssign(_ []any, reply any) bool {
	parts, _ := reply.([]any)
	return all(reply, isInt) && len(parts) == 2
}

func fitsCount(_ []any, reply any) bool { return between(reply, 0, math.MaxInt64) }

func fitsPoolMembers(_ []any, reply any) bool { return all(reply, isBulk) }

func fitsProbe(args []any, reply any) bool {
	parts, _ := reply.([]any)
	return all(reply, isBulk) && len(parts) == len(args)-2-keysOf(args)
}

func fitsRegister(_ []any, reply any) bool {
	parts, _ := reply.([]any)
	if len(parts) != 2 {
		return false
	}
	switch word(parts[0]) {
	case "done", "not done":
		return parts[1] == nil || isBulk(parts[1])
	case "foreign":
		return isBulk(parts[1])
	}
	return false
}

func fitsRelease(_ []any, reply any) bool {
	said := word(reply)
	return said == "released" || said == "not held" || said == "handed on"
}

func fitsReleaseAny(_ []any, reply any) bool {
	said := word(reply)
	return said == "released" || said == "not held"
}

func fitsRepair(args []any, reply any) bool {
	if argOf(args, 2) == nil {
		return reply == int64(0)
	}
	return between(reply, 0, math.MaxInt64)
}

func fitsReset(_ []any, reply any) bool {
	parts, _ := reply.([]any)
	if len(parts) != 3 || !isTaken(parts[1:]) {
		return false
	}
	switch word(parts[0]) {
	case "reset", "other":
		return between(parts[2], -1, math.MaxInt64)
	case "free":
		return word(parts[1]) == "" && parts[2] == int64(-2)
	}
	return false
}

func fitsTake(args []any, reply any) bool {
	return all(reply, func(place any) bool { return between(place, 1, int64(keysOf(args))) })
}

package parrot

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// words are what replies consist of.
var words = []string{
	"0", "1", "-1", "+1", "01", "9007199254740991", "9007199254740993", "17950000000000000000", "1.5", "", " 1", "OK",
	ID, ID + "/kept", "lock:job", "lock-signal:job", "lock-waiting:x/y", "-1e3", "1_000", "0x1",
	"ours", "bare", "other", "free", "released", "not held", "handed on", "reset", "foreign", "others",
	"WRONGTYPE x", "READONLY x", "NOSCRIPT x", "LOADING x", "ERR x", "NOPERM x",
}

const firstError = 30 // from here on they are errors

var numbers = []int64{0, 1, 2, -1, -2, -3, -4, 1000, 9223372036855, 1<<63 - 1, -1 << 63}

// Make makes a reply, of any kind that redigo knows, of what a fuzzer made up.
func Make(data []byte) any {
	reply, _ := take(data, 0)
	return reply
}

// take makes a reply of the first bytes, and returns the others.
func take(data []byte, depth int) (reply any, rest []byte) {
	if len(data) < 2 {
		return nil, nil
	}
	kind, n, rest := data[0]%8, int(data[1]), data[2:]
	word := words[n%len(words)]
	switch {
	case kind == 0:
		return nil, rest
	case kind == 1:
		return numbers[n%len(numbers)], rest
	case kind == 2 && len(rest) >= 8:
		return int64(binary.BigEndian.Uint64(rest)), rest[8:]
	case kind == 3:
		return []byte(word), rest
	case kind == 4:
		n = min(n, len(rest))
		return rest[:n:n], rest[n:]
	case kind == 5:
		return word, rest
	case kind == 6:
		return redis.Error(word), rest
	case depth > 4:
		return nil, rest
	}
	parts := make([]any, n%6)
	for i := range parts {
		parts[i], rest = take(rest, depth+1)
	}
	return parts, rest
}

// Seeds returns data for [Make]: values in the places that replies have. What stands after a value fills
// what it takes.
func Seeds() [][]byte {
	var values, seeds [][]byte
	for n := range byte(len(numbers)) {
		values = append(values, []byte{1, n})
	}
	for n := range byte(len(words)) {
		values = append(values, []byte{3, n})
	}
	for n := firstError; n < len(words); n++ {
		values = append(values, []byte{6, byte(n)})
	}
	values = append(values, []byte{0, 0}, []byte{5, 0}, []byte{5, 11}, []byte{7, 0}, []byte{7, 1, 1, 1})
	for _, value := range values {
		for _, before := range [][]byte{
			nil,                          // value
			{7, 1},                       // {value}
			{7, 2, 1, 0},                 // {0, value}
			{7, 2, 1, 1},                 // {1, value}
			{7, 2, 3, 12},                // {owner, value}
			{7, 3, 3, 27, 3, 12},         // {"reset", owner, value}
			{7, 2, 3, 0, 7, 2, 3, 14},    // {"0", {key, value}}
			{7, 2, 3, 1, 7, 0, 7, 2},     // {"1", {}}
			{7, 3, 1, 0, 3, 12, 1, 7, 0}, // {0, owner, 1000}
			{7, 3, 3, 20},                // {"ours", value}
			{7, 3, 3, 20, 3, 9},          // {"ours", "", value}
			{7, 3, 3, 22, 3, 12},         // {"other", owner, value}
			{7, 3, 3, 21, 3, 9},          // {"bare", "", value}
			{7, 3, 3, 23, 3, 9},          // {"free", "", value}
		} {
			seeds = append(seeds, append(before, value...))
		}
		seeds = append(seeds, append(append([]byte{7, 2}, value...), 3, 0))           // {value, "0"}
		seeds = append(seeds, append(append([]byte{7, 2}, value...), 1, 7))           // {value, 1000}
		seeds = append(seeds, append(append([]byte{7, 3}, value...), 3, 12, 1, 7))    // {value, owner, 1000}
		seeds = append(seeds, append(append([]byte{7, 3}, value...), 3, 9, 1, 7))     // {value, "", 1000}
		seeds = append(seeds, append(append([]byte{7, 3}, value...), 3, 9, 1, 4))     // {value, "", -2}
		seeds = append(seeds, append(append([]byte{7, 2}, value...), 7, 1, 3, 14))    // {value, {key}}
		seeds = append(seeds, append(append([]byte{7, 2, 1, 1}, value...), value...)) // {1, value}, and rest
	}
	return seeds
}

// Show writes a reply so that one can read it and tell its kinds apart.
func Show(reply any) string {
	switch v := reply.(type) {
	case []byte:
		return fmt.Sprintf("$%q", v)
	case string:
		return fmt.Sprintf("+%q", v)
	case redis.Error:
		return fmt.Sprintf("-%q", string(v))
	case []any:
		var parts []string
		for _, part := range v {
			parts = append(parts, Show(part))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(reply)
}

package redisconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/gomodule/redigo/redis"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text  string
		class Class
		code  string // "" for none
	}{
		// Redis itself.
		{"READONLY You can't write against a read only replica.", Moved, "READONLY"},
		{"UNBLOCKED force unblock from blocking operation, instance state changed (master -> " +
			"replica?)", Moved, "UNBLOCKED"},
		{"UNBLOCKED client unblocked via CLIENT UNBLOCK", Moved, "UNBLOCKED"},
		{"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", Moved, "MASTERDOWN"},
		{"CLUSTERDOWN Hash slot not served", Moved, "CLUSTERDOWN"},
		{"MOVED 5259 127.0.0.1:7001", Moved, "MOVED"},
		{"ASK 5259 127.0.0.1:7001", Moved, "ASK"},
		{"LOADING Redis is loading the dataset in memory", Moved, "LOADING"},
		{"ERR max number of clients reached", Moved, ""},
		{"ERR max number of clients + cluster connections reached", Moved, ""},
		{"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN " +
			"NOSAVE.", Passing, "BUSY"},
		{"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist " +
			"on disk.", Passing, "MISCONF"},
		{"NOREPLICAS Not enough good replicas to write.", Passing, "NOREPLICAS"},
		{"OOM command not allowed when used memory > 'maxmemory'.", Passing, "OOM"},
		{"TRYAGAIN Multiple keys request during rehashing of slot", Passing, "TRYAGAIN"},
		{"NOSCRIPT No matching script. Please use EVAL.", NoScript, "NOSCRIPT"},
		{"NOAUTH Authentication required.", Permanent, "NOAUTH"},
		{"WRONGPASS invalid username-password pair or user is disabled.", Permanent, "WRONGPASS"},
		{"NOPERM this user has no permissions to run the 'blpop' command", Permanent, "NOPERM"},
		{"WRONGTYPE Operation against a key holding the wrong kind of value", Permanent, "WRONGTYPE"},
		{"CROSSSLOT Keys in request don't hash to the same slot", Permanent, "CROSSSLOT"},
		{"DENIED Redis is running in protected mode because protected mode is enabled", Permanent, "DENIED"},
		{"NOPROTO unsupported protocol version", Permanent, "NOPROTO"},
		{"ERR The user executing the script can't run this command or subcommand", Permanent, ""},
		{"ERR ACL failure in script: User OOM has no permissions to run the 'get' command", Permanent, ""},
		{"ERR value is not an integer or out of range", Permanent, ""},
		{"ERR AUTH <password> called without any password configured for the default user.", Permanent, ""},
		{"", Permanent, ""},

		// Inside scripts: Redis 6.2, with call and with pcall; Redis 7; miniredis.
		{"ERR Error running script (call to f_6b1bf486c81ceb7edf3c093f4c48582e38c0e791): " +
			"@user_script:1: " +
			"WRONGTYPE Operation against a key holding the wrong kind of value", Permanent, "WRONGTYPE"},
		{"@user_script: 1: -READONLY You can't write against a read only replica.", Moved, "READONLY"},
		{"@user_script: 3: -OOM command not allowed when used memory > 'maxmemory'.", Passing, "OOM"},
		{"ERR Error running script (call to f_ab): @user_script:1: @user_script: 1: -MISCONF Redis is " +
			"configured to save RDB snapshots", Passing, "MISCONF"},
		{"ERR Error running script (call to f_ab): @user_script:1: @user_script: 1: " +
			"The user executing the script can't run this command or subcommand", Permanent, ""},
		{"READONLY You can't write against a read only replica. script: 6b1bf486c8, on " +
			"@user_script:1.", Moved, "READONLY"},
		{"ERR Error compiling script (new function): <string>:1: WRONGTYPE Operation against a key " +
			"holding the wrong kind of value", Permanent, "WRONGTYPE"},
		{"EXECABORT Transaction discarded because of: READONLY no writes here", Moved, "READONLY"},

		// Proxies.
		{"ERR READONLY You can't write against a read only slave.", Moved, "READONLY"},
		{"ERR LOADING Redis is loading the dataset in memory", Moved, "LOADING"},
		{"ERR: OOM", Passing, "OOM"},
		{"-LOADING", Moved, "LOADING"},

		// What looks like a code and is the client's, or another word.
		{"ERR unknown command 'OOM'", Permanent, ""},
		{"ERR unknown command `BUSY`, with args beginning with: `LOADING` `x`, ", Permanent, ""},
		{"ERR unknown subcommand 'READONLY'. Try CLIENT HELP.", Permanent, ""},
		{"ERR wrong number of arguments for 'LOADING' command", Permanent, ""},
		{"ERR invalid expire time in 'OOM' command", Permanent, ""},
		{"ERR bad name (`BUSY`) or \"MOVED\"", Permanent, ""},
		{"NOPERM User BUSY has no permissions to run the 'get' command", Permanent, "NOPERM"},
		{"NOPERM No permissions to access a key", Permanent, "NOPERM"},
		{"ERR No permissions to access the READONLY key", Permanent, ""},
		{"BUSYGROUP Consumer Group name already exists", Permanent, ""},
		{"BUSYKEY Target key name already exists.", Permanent, ""},
		{"ERR the MOVED_TO word", Permanent, ""},
		{"Moved to another place", Permanent, ""},
	}
	for _, test := range tests {
		for _, err := range []error{redis.Error(test.text), fmt.Errorf("acquire: %w", redis.Error(test.text))} {
			if got := Classify(err); got != test.class {
				t.Errorf("Classify(%q) = %d, want %d", err, got, test.class)
			}
			for code := range codes {
				if got := HasCode(err, code); got != (code == test.code) {
					t.Errorf("HasCode(%q, %s) = %v", err, code, got)
				}
			}
		}
	}
}

func TestClassifyOtherErrors(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		io.EOF, context.Canceled, ErrTimeout, ErrClosed, &Error{Err: io.EOF}, errors.New("READONLY x"),
	} {
		if got := Classify(err); got != Broken {
			t.Errorf("Classify(%v) = %d, want Broken", err, got)
		}
		if HasCode(err, "READONLY") || BlockingRefused(err) {
			t.Errorf("%v is taken for a reply", err)
		}
	}
	if got := Classify(&Error{Err: redis.Error("NOAUTH x")}); got != Permanent {
		t.Errorf("a refused dial: %d, want Permanent", got)
	}
}

func TestBlockingRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"ERR unknown command 'BLPOP'":                                                      true,
		"ERR unknown command `BLPOP`, with args beginning with: `a`, `b`, ":                true,
		"ERR unknown command 'blpop', with args beginning with: 'a'":                       true,
		"ERR unknown command":                                                              true,
		"NOPERM this user has no permissions to run the 'blpop' command or its subcommand": true,
		"NOPERM User x has no permissions to run the 'blpop' command":                      true,

		"ERR unknown command 'EVALSHA', with args beginning with: 'blpop'": false,
		"ERR unknown command 'lpush', with args beginning with: 'BLPOP'":   false,
		"NOPERM User x has no permissions to access the 'blpop' key":       false,
		"NOPERM this user has no permissions to run the 'get' command":     false,
		"NOPERM No permissions to access a key":                            false,
		"WRONGTYPE Operation against a key":                                false,
	} {
		if got := BlockingRefused(redis.Error(text)); got != want {
			t.Errorf("BlockingRefused(%q) = %v", text, got)
		}
	}
	if BlockingRefused(nil) {
		t.Error("no error is a refusal")
	}
}

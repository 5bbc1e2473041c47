package lock

import (
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// What servers say that are not at hand.
func TestVersions(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]Finding{
		"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.0\r\n": {
			"version", OK, "valkey 8.1.0", "",
		},
		"redis_version:7.4.0\r\ndragonfly_version:df-v1.30.0\r\n": {
			"version", OK, "dragonfly df-v1.30.0", "",
		},
		"redis_version:6.0.0\r\n":    {"version", OK, "redis 6.0.0", ""},
		"redis_version:10.1.0\r\n":   {"version", OK, "redis 10.1.0", ""},
		"redis_version:unstable\r\n": {"version", Unknown, "redis unstable", ""},
		"redis_version:5.0.14\r\n": {
			"version", Problem, "redis 5.0.14 is too old", "upgrade to Redis 6.0 or later",
		},
		"": {"version", Unknown, "INFO does not say", ""},
	} {
		x := &examination{asked: &answers{info: []byte(info)}}
		if got := x.facts().version(); got != want {
			t.Errorf("%q: %v, want %v", info, got, want)
		}
	}
}

// Clocks are compared in the middle of the quickest round trip, and only as well as that tells.
func TestClockDifference(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(rtt, ahead time.Duration) timeReply {
		return timeReply{server: start.Add(rtt/2 + ahead), sent: start, heard: start.Add(rtt)}
	}
	for _, test := range []struct {
		name  string
		times []timeReply
		want  Level
	}{
		{"equal", []timeReply{at(time.Millisecond, 0)}, OK},
		{"a little", []timeReply{at(time.Millisecond, -900*time.Millisecond)}, OK},
		{"ahead", []timeReply{at(time.Millisecond, 1100*time.Millisecond)}, Advice},
		{"behind", []timeReply{at(time.Millisecond, -1100*time.Millisecond)}, Advice},
		{"too slow to say", []timeReply{at(time.Second, 1100*time.Millisecond)}, Unknown},
		{"too slow to say it is well", []timeReply{at(time.Second, 900*time.Millisecond)}, Unknown},
		{"slow, and far", []timeReply{at(time.Second, time.Minute)}, Advice},
		{"the quickest counts", []timeReply{at(time.Second, time.Minute), at(time.Millisecond, 0)}, OK},
		{"refused", []timeReply{{sent: start, heard: start, refused: redis.Error("NOPERM")}}, Unknown},
	} {
		x := &examination{times: test.times}
		if got := x.clock(); got.Level != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// A user whose rights differ from key to key: a command that works elsewhere is refused on keys of one
// kind, and the finding is theirs.
func TestRightsOfKeys(t *testing.T) {
	t.Parallel()
	probed := map[string]any{}
	for _, kind := range kinds {
		all := make([]any, len(tries))
		for i := range tries {
			all[i] = []byte("ok")
		}
		probed[kind] = all
	}
	probed[kindSignal].([]any)[6] = []byte("NOPERM ACL failure in script: No permissions to access a key")
	x := &examination{probed: probed}
	for rule, want := range map[string]verdict{
		"~lock-signal:*": missing, "~lock:*": present, "~lock-inbox:*": present, "+lpush": present,
	} {
		if got, why := x.verdict(rule); got != want {
			t.Errorf("%s: %v (%s), want %v", rule, got, why, want)
		}
	}
	probed[kindFence] = errReply
	if got, why := x.verdict("~lock-fence:*"); got != undecided || why == "" {
		t.Errorf("a reply of another form: %v (%s)", got, why)
	}
}

package store

import (
	"errors"
	"maps"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// What a server says of itself comes in lines.
func TestParseInfo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		"# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\n\r\nvalkey_version:8.1.0\r\n": {
			"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.1.0",
		},
		"redis_version:6.0.0\nexecutable:C:\\redis": {"redis_version": "6.0.0", "executable": `C:\redis`},
		"maxmemory_policy:\r\n":                     {"maxmemory_policy": ""},
		"":                                          {},
	} {
		if got, err := parseInfo([]byte(text)); !maps.Equal(got, want) || err != nil {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	refused := redis.Error("NOPERM x")
	if got, err := parseInfo(refused); len(got) != 0 || !errors.Is(err, refused) {
		t.Errorf("refused: %v, %v", got, err)
	}
}

// A probe says of each command what Redis said to it, and nothing of one that worked.
func TestParseProbed(t *testing.T) {
	t.Parallel()
	const said = "NOPERM ACL failure in script: No permissions to access a key"
	reply := make([]any, len(Tries))
	for i := range reply {
		reply[i] = []byte("ok")
	}
	reply[6] = []byte(said)
	got := parseProbed(reply)
	if len(got.Refusals) != len(Tries) || got.Refusals["LPUSH"] != said || got.Refusals["DEL"] != "" || got.Err != nil {
		t.Errorf("%+v", got)
	}
	for _, bad := range []any{reply[1:], nil, int64(1), append(reply[1:], int64(1))} {
		if got := parseProbed(bad); !errors.Is(got.Err, ErrReply) {
			t.Errorf("%v: %+v", bad, got)
		}
	}
	if got := parseProbed(redis.Error(said)); !Refused(got.Err) {
		t.Errorf("refused: %+v", got)
	}
}

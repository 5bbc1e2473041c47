package doctor

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/store"
)

// What servers say that are not at hand.
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		info map[string]string
		want Finding
	}{
		{
			map[string]string{"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.1.0"},
			Finding{"version", OK, "valkey 8.1.0", ""},
		},
		{
			map[string]string{"redis_version": "7.4.0", "dragonfly_version": "df-v1.30.0"},
			Finding{"version", OK, "dragonfly df-v1.30.0", ""},
		},
		{map[string]string{"redis_version": "6.0.0"}, Finding{"version", OK, "redis 6.0.0", ""}},
		{map[string]string{"redis_version": "10.1.0"}, Finding{"version", OK, "redis 10.1.0", ""}},
		{map[string]string{"redis_version": "unstable"}, Finding{"version", Unknown, "redis unstable", ""}},
		{
			map[string]string{"redis_version": "5.0.14"},
			Finding{"version", Problem, "redis 5.0.14 is too old", "upgrade to Redis 6.0 or later"},
		},
		{nil, Finding{"version", Unknown, "INFO does not say", ""}},
	} {
		x := &examination{facts: &store.Facts{Info: test.info}}
		if got := (facts{x.facts, x}).version(); got != test.want {
			t.Errorf("%q: %v, want %v", test.info, got, test.want)
		}
	}
}

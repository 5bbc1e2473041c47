package lock

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/owner"
	"github.com/holdfast-go/holdfast/internal/store"
)

// FuzzParseOwner checks that whatever a key holds is taken in, and that nothing of it gets out which
// would allow to release the lock.
func FuzzParseOwner(f *testing.F) {
	const id = "host:1/01ARZ3NDEKTSV4RRFFQ69G5FAV"
	for _, value := range []string{id, id + "/kept", "db3#yTq0w7Zk3A", "yTq0w7Zk3A/kept", "", "\xff" + id} {
		f.Add("job", value, int64(NoExpiry))
		f.Add("", value, int64(time.Second))
	}
	for _, ttl := range []time.Duration{0, 1, time.Millisecond, 100 * 365 * 24 * time.Hour} {
		f.Add("job", id, int64(ttl))
	}
	f.Fuzz(func(t *testing.T, name, value string, ttl int64) {
		o := ownerOf(name, &store.Held{Owner: value, TTL: time.Duration(ttl)})
		if o.Name != name || o.ID != value || o.TTL != time.Duration(ttl) {
			t.Errorf("%q, %v: %#v", value, time.Duration(ttl), o)
		}
		if got := (owner.ID{Label: o.Label, Host: o.Host, PID: o.PID, Since: o.Since, Kept: o.Kept}); got != owner.Parse(value) {
			t.Errorf("%q: %#v, want %#v", value, o, owner.Parse(value))
		}
		fuzzDiscreet(t, o)
	})
}

// fuzzDiscreet checks that the random part of an id, the last 16 characters of its ULID, is told by
// nothing but Owner.ID.
func fuzzDiscreet(t *testing.T, o Owner) {
	t.Helper()
	value := strings.TrimSuffix(o.ID, owner.KeptSuffix)
	if len(value) < 26 {
		return
	}
	secret := value[len(value)-16:]
	if strings.Contains(o.Label+"\n"+o.Name, secret) || strings.Contains(fuzzTexts(Owner{Name: o.Name}), secret) {
		return // it is where everybody looks, and so no secret
	}
	if texts := fuzzTexts(o); strings.Contains(texts, secret) {
		t.Errorf("the random part %q is in %q", secret, texts)
	}
}

// fuzzTexts returns all that is told of an owner.
func fuzzTexts(o Owner) string {
	held := heldError(o.Name, &store.Held{Owner: o.ID, TTL: o.TTL})
	other := &engine.OtherOwner{Owner: owner.Parse(o.ID)}
	return fmt.Sprint(o) + o.String() + held.Error() + fmt.Sprintf("%+v %#v %#v", o.anonymous(), o.anonymous(), *held) +
		fmt.Sprintf("%v %+v %#v", other, other, other) + words.Lost(o.Name, other).Error()
}

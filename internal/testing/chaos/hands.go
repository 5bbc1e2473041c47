package chaos

import (
	"time"

	"github.com/gomodule/redigo/redis"
)

// hand leaves the id of a detached lock to whoever wants to adopt it.
func (r *run) hand(name, id string) {
	r.handMu.Lock()
	defer r.handMu.Unlock()
	r.ids[name] = append(r.ids[name], id)
}

func (r *run) handed(name string) (id string, ok bool) {
	r.handMu.Lock()
	defer r.handMu.Unlock()
	ids := r.ids[name]
	if len(ids) == 0 {
		return "", false
	}
	r.ids[name] = ids[:len(ids)-1]
	return ids[len(ids)-1], true
}

// deleted deletes a lock as an operator may, and reports whether there was one.
func (r *run) deleted(name string) bool {
	n, err := redis.Int(r.command("DEL", "lock:"+name))
	return err == nil && n > 0
}

// command sends one past all proxies.
func (r *run) command(name string, args ...any) (any, error) {
	r.adminMu.Lock()
	defer r.adminMu.Unlock()
	return r.admin.Do(name, args...)
}

// holder returns the id under which a lock is held, "" if it is not.
func (r *run) holder(name string) string {
	id, _ := redis.String(r.command("GET", "lock:"+name))
	return id
}

// until waits until a condition holds, and returns false if it does not in that time.
func (r *run) until(d time.Duration, holds func() bool) bool {
	for end := time.Now().Add(d); !holds(); wait(nil, 5*time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

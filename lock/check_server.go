package lock

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// What to do when Redis does not tell.
const (
	allowInfo   = "allow +info, or ask the operator"
	allowConfig = "allow +config|get, or ask the operator"
)

// facts are what a server says of itself.
type facts struct {
	info    map[string]string
	infoErr error

	config    map[string]string
	configErr error // the first refusal to tell a parameter

	role []any
	of   *examination
}

func (x *examination) facts() facts {
	f := facts{info: map[string]string{}, config: map[string]string{}, of: x}
	text, err := redis.String(x.asked.info, replyError(x.asked.info))
	f.infoErr = err
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			f.info[key] = value
		}
	}
	for i, reply := range x.asked.config {
		pair, err := redis.Strings(reply, replyError(reply))
		if err == nil && len(pair) == 2 {
			f.config[parameters[i]] = pair[1]
		}
		if f.configErr == nil {
			f.configErr = replyError(reply)
		}
	}
	f.role, _ = x.role.([]any)
	return f
}

// either returns what INFO says under a key or, without it, CONFIG GET; "" if neither does.
func (f facts) either(info, config string) string {
	if value := f.info[info]; value != "" {
		return value
	}
	return f.config[config]
}

// untold is the finding of something that INFO does not tell.
func (f facts) untold(subject string) Finding {
	return f.of.withheld(subject, "INFO", f.infoErr, allowInfo)
}

// unset is the finding of something that CONFIG GET does not tell.
func (f facts) unset(subject string) Finding {
	return f.of.withheld(subject, "CONFIG GET", f.configErr, allowConfig)
}

// configSet is a remedy: what CONFIG SET sets is forgotten at a restart unless it is in the file.
func configSet(parameter, value string) string {
	return fmt.Sprintf("CONFIG SET %s %s, and in redis.conf (CONFIG REWRITE)", parameter, value)
}

// server returns the findings about the server itself.
func (x *examination) server(ttl time.Duration) []Finding {
	f := x.facts()
	return []Finding{
		x.state(), f.version(), f.master(), f.cluster(), f.eviction(), f.persistence(), f.replicas(),
		f.timeout(), f.hz(), x.clock(), x.latency(ttl),
	}
}

func (f facts) version() Finding {
	kind, version := "redis", f.info["redis_version"]
	for _, other := range []string{"valkey", "dragonfly"} {
		if own := f.info[other+"_version"]; own != "" {
			kind, version = other, own
		}
	}
	// Others than Redis tell there with which Redis they are compatible.
	compatible := f.info["redis_version"]
	major, _, _ := strings.Cut(compatible, ".")
	n, err := strconv.Atoi(major)
	text := kind + " " + version
	switch {
	case compatible == "":
		return f.untold("version")
	case err != nil:
		return Finding{"version", Unknown, text, ""}
	case n < 6:
		return Finding{"version", Problem, text + " is too old", "upgrade to Redis 6.0 or later"}
	}
	return Finding{"version", OK, text, ""}
}

func (f facts) master() Finding {
	role := f.info["role"]
	if role == "" && len(f.role) > 0 {
		role, _ = redis.String(f.role[0], nil)
	}
	switch role {
	case "":
		return f.untold("role")
	case "master":
		return Finding{"role", OK, "master", ""}
	}
	text := "replica, which takes no locks"
	if host := f.info["master_host"]; host != "" {
		text = fmt.Sprintf("replica of %s:%s, which takes no locks", host, f.info["master_port"])
	}
	return Finding{"role", Problem, text, "connect to the master"}
}

func (f facts) cluster() Finding {
	switch f.info["cluster_enabled"] {
	case "":
		return f.untold("cluster")
	case "0":
		return Finding{"cluster", OK, "off", ""}
	}
	if f.of.tagged {
		return Finding{"cluster", OK, "on: the prefix's hash tag puts all keys into one slot", ""}
	}
	return Finding{
		"cluster", Problem, "on: waiting fails, and so do locks whose names have no hash tag",
		`give the client a prefix with one, as in Options{Prefix: "{app}:"}, and dial the slot's server`,
	}
}

// hasTag reports whether keys that begin with the prefix are all in one slot of a Redis Cluster.
func hasTag(prefix string) bool {
	_, rest, _ := strings.Cut(prefix, "{")
	return strings.Index(rest, "}") > 0
}

func (f facts) eviction() Finding {
	limit := f.either("maxmemory", "maxmemory")
	policy := f.either("maxmemory_policy", "maxmemory-policy")
	switch {
	case limit == "0":
		return Finding{"eviction", OK, "never: maxmemory is 0", ""}
	case policy == "noeviction" && f.full(limit):
		return Finding{
			"eviction", Problem, "never: maxmemory-policy noeviction; but no memory is left for new locks",
			"raise maxmemory, or make room",
		}
	case policy == "noeviction":
		return Finding{"eviction", OK, "never: maxmemory-policy noeviction", ""}
	case limit == "" || policy == "":
		return f.untold("eviction")
	}
	return Finding{
		"eviction", Problem,
		fmt.Sprintf("maxmemory-policy %s: at %s bytes Redis deletes keys", policy, limit),
		configSet("maxmemory-policy", "noeviction") + "; or a Redis for locks alone",
	}
}

// full reports whether the memory is used up.
func (f facts) full(limit string) bool {
	most, err1 := strconv.ParseUint(limit, 10, 64)
	used, err2 := strconv.ParseUint(f.info["used_memory"], 10, 64)
	return err1 == nil && err2 == nil && used >= most
}

func (f facts) persistence() Finding {
	aof := f.info["aof_enabled"]
	if aof == "" {
		aof = map[string]string{"yes": "1", "no": "0"}[f.config["appendonly"]]
	}
	fsync := f.config["appendfsync"]
	switch {
	case aof == "":
		return f.untold("persistence")
	case aof == "0":
		return Finding{
			"persistence", Advice, "appendonly no: " + f.forgets(),
			configSet("appendonly", "yes") + "; or make sure that all jobs end when Redis restarts",
		}
	case fsync == "":
		untold := f.unset("persistence")
		untold.Text = "appendonly yes, appendfsync not told: " + untold.Text
		return untold
	case fsync == "no":
		return Finding{
			"persistence", Advice, "appendfsync no: a crash of the machine loses half a minute of locks",
			configSet("appendfsync", "everysec"),
		}
	case fsync == "everysec":
		text := "appendfsync everysec: a crash of the machine loses a second or two of locks"
		return Finding{"persistence", OK, text, ""}
	}
	return Finding{"persistence", OK, "appendfsync " + fsync, ""}
}

// forgets says what is lost without an append-only file. With save points Redis writes a snapshot when
// it is shut down.
func (f facts) forgets() string {
	switch save, told := f.config["save"]; {
	case !told:
		return "a crash loses locks that are held, and so does a restart if save is off"
	case save == "":
		return "a restart loses locks that are held"
	default:
		return "a crash loses locks taken since the last snapshot (save " + save + ")"
	}
}

func (f facts) replicas() Finding {
	const fence = "pass Lease.Fence to what the lock protects"
	least := f.config["min-replicas-to-write"]
	need, _ := strconv.Atoi(least)
	good, errGood := strconv.Atoi(f.info["min_slaves_good_slaves"])
	n, err := strconv.Atoi(f.info["connected_slaves"])
	text := fmt.Sprintf("%d connected: a failover loses what has not reached the new master", n)
	switch {
	case err != nil:
		return f.untold("replicas")
	case need > 0 && errGood == nil && good < need:
		return Finding{
			"replicas", Problem,
			fmt.Sprintf("%d in step, min-replicas-to-write %d: writes are refused", good, need),
			"bring a replica back, or lower min-replicas-to-write",
		}
	case n == 0:
		return Finding{"replicas", OK, "none", ""}
	case need > 0:
		return Finding{"replicas", Advice, text + "; min-replicas-to-write " + least, fence}
	case least == "":
		return Finding{"replicas", Advice, text + "; min-replicas-to-write is not told", fence}
	}
	return Finding{"replicas", Advice, text, fence + "; min-replicas-to-write 1 narrows the gap"}
}

func (f facts) timeout() Finding {
	switch seconds := f.config["timeout"]; seconds {
	case "":
		return f.unset("timeout")
	case "0":
		return Finding{"timeout", OK, "0: idle connections stay", ""}
	default:
		return Finding{
			"timeout", Advice,
			seconds + " s: a connection idle for so long is closed, and dialled anew for its next call",
			configSet("timeout", "0") + "; tcp-keepalive finds dead clients",
		}
	}
}

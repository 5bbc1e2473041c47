package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

// version judges by the version of Redis that the server is compatible with. Scripts need what came
// with 6.0.
func (f facts) version() Finding {
	kind, version := "redis", f.Info["redis_version"]
	for _, other := range []string{"valkey", "dragonfly"} {
		if own := f.Info[other+"_version"]; own != "" {
			kind, version = other, own
		}
	}
	// Others than Redis tell there with which Redis they are compatible.
	compatible := f.Info["redis_version"]
	major, _, _ := strings.Cut(compatible, ".")
	n, err := strconv.Atoi(major)
	text := kind + " " + version
	switch {
	case compatible == "":
		return f.untold("version")
	case err != nil: // built from a branch, say
		return Finding{"version", Unknown, text, ""}
	case n < 6:
		return Finding{"version", Problem, text + " is too old", "upgrade to Redis 6.0 or later"}
	}
	return Finding{"version", OK, text, ""}
}

// master refuses replicas. They would refuse writes, or forget them if they are writable.
func (f facts) master() Finding {
	role := f.Info["role"]
	if role == "" {
		role = f.of.role
	}
	switch role {
	case "":
		return f.untold("role")
	case "master":
		return Finding{"role", OK, "master", ""}
	}
	text := "replica, which takes no locks"
	if host := f.Info["master_host"]; host != "" {
		text = fmt.Sprintf("replica of %s:%s, which takes no locks", host, f.Info["master_port"])
	}
	return Finding{"role", Problem, text, "connect to the master"}
}

// cluster asks for a hash tag. A wait connection reads the signals of many names at once, which
// must be in one slot.
func (f facts) cluster() Finding {
	switch f.Info["cluster_enabled"] {
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

// eviction finds out whether Redis deletes keys for want of memory. A lock that is evicted is free
// while its holder believes in it, until the next renewal.
//
// It takes a limit and a policy for a key to be evicted. One of the two that is harmless is enough
// to say that all is well. One that is not harmless says nothing without the other.
func (f facts) eviction() Finding {
	limit := f.either("maxmemory", "maxmemory")
	policy := f.either("maxmemory_policy", "maxmemory-policy")
	switch {
	case limit == "0":
		return Finding{"eviction", OK, "never: maxmemory is 0", ""}
	case policy == "noeviction" && f.full(limit): // nothing is deleted, and nothing is taken
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

// full reports whether the memory is used up. If either number is not told it is not known, and not
// claimed.
func (f facts) full(limit string) bool {
	most, err1 := strconv.ParseUint(limit, 10, 64)
	used, err2 := strconv.ParseUint(f.Info["used_memory"], 10, 64)
	return err1 == nil && err2 == nil && used >= most
}

// persistence tells what a crash forgets. A lock that is forgotten is taken anew while its holder
// works on. That is Advice, since a fencing token, or a restart of the jobs as well, makes it
// harmless.
func (f facts) persistence() Finding {
	// What INFO tells is what Redis does. The setting may have been changed in the file only.
	aof := f.Info["aof_enabled"]
	if aof == "" {
		aof = map[string]string{"yes": "1", "no": "0"}[f.Config["appendonly"]]
	}
	fsync := f.Config["appendfsync"]
	switch {
	case aof == "":
		return f.untold("persistence")
	case aof == "0":
		return Finding{
			"persistence", Advice, "appendonly no: " + f.forgets(),
			configSet("appendonly", "yes") + "; or make sure that all jobs end when Redis restarts",
		}
	case fsync == "": // INFO does not know it, so that it takes CONFIG GET
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

// forgets says what is lost without an append-only file. With save points Redis writes a snapshot
// when it is shut down.
func (f facts) forgets() string {
	switch save, told := f.Config["save"]; {
	case !told:
		return "a crash loses locks that are held, and so does a restart if save is off"
	case save == "":
		return "a restart loses locks that are held"
	default: // a restart in good order saves
		return "a crash loses locks taken since the last snapshot (save " + save + ")"
	}
}

// replicas tells what a failover forgets, which min-replicas-to-write can only narrow: Redis
// replicates after it has answered. With too few replicas in step nothing can be written at all.
func (f facts) replicas() Finding {
	const fence = "pass Lease.Fence to what the lock protects"
	// A setting that is not told counts as none here, but the text says that it is not told.
	least := f.Config["min-replicas-to-write"]
	need, _ := strconv.Atoi(least)
	good, errGood := strconv.Atoi(f.Info["min_slaves_good_slaves"])
	n, err := strconv.Atoi(f.Info["connected_slaves"])
	text := fmt.Sprintf("%d connected: a failover loses what has not reached the new master", n)
	switch {
	case err != nil:
		return f.untold("replicas")
	// Redis counts those in step only where it needs them. Without that number nothing is claimed.
	case need > 0 && errGood == nil && good < need:
		return Finding{
			"replicas", Problem,
			fmt.Sprintf("%d in step, min-replicas-to-write %d: writes are refused", good, need),
			"bring a replica back, or lower min-replicas-to-write",
		}
	case n == 0: // nothing fails over
		return Finding{"replicas", OK, "none", ""}
	case need > 0:
		return Finding{"replicas", Advice, text + "; min-replicas-to-write " + least, fence}
	case least == "": // then to advise it could be wrong
		return Finding{"replicas", Advice, text + "; min-replicas-to-write is not told", fence}
	}
	return Finding{"replicas", Advice, text, fence + "; min-replicas-to-write 1 narrows the gap"}
}

// timeout finds out whether Redis closes idle connections. Locks work all the same, at the price of
// a dial.
func (f facts) timeout() Finding {
	switch seconds := f.Config["timeout"]; seconds {
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

package lock

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// LogHooks returns hooks that write to a logger. A nil logger stands for what slog.Default() is at
// the time of each record. [JoinHooks] joins them with hooks of your own.
//
//	debug  lock renewed
//	info   lock acquired, waiting for lock, lock released, lock was not held any more
//	warn   lock renewal failed, lock release failed, lock retried, lock connection broken,
//	       lock waiting degraded, lock warning
//	error  lock lost, lock leaked
//
// The attributes are:
//   - lock: its name
//   - label: ours
//   - owner, host, pid, since, ttl: of who holds the lock, see [Owner]
//   - kept: the holder has released it, see [Owner]
//   - waited: since the call began
//   - for: since the first error in a row
//   - until: when the lease ends if it is not renewed
//   - times: how often it happened
//   - fence: the fencing token
//   - detail: the text of a warning
//   - error
//
// An attribute without a value is left out, such as the ttl of a lock without expiry. None carries
// the random part of an owner's id, or a password. A level that is not enabled costs a question to
// the handler. A handler that blocks is a hook that blocks: see [Hooks].
func LogHooks(l *slog.Logger) Hooks {
	done := logAt(l, slog.LevelInfo, "lock released", releasedAttrs)
	gone := logAt(l, slog.LevelInfo, "lock was not held any more", releasedAttrs)
	undone := logAt(l, slog.LevelWarn, "lock release failed", releasedAttrs)
	return Hooks{
		Acquired:      logAt(l, slog.LevelInfo, "lock acquired", acquiredAttrs),
		Waiting:       logAt(l, slog.LevelInfo, "waiting for lock", waitingAttrs),
		Renewed:       logAt(l, slog.LevelDebug, "lock renewed", renewedAttrs),
		RenewalFailed: logAt(l, slog.LevelWarn, "lock renewal failed", renewalFailedAttrs),
		Lost:          logAt(l, slog.LevelError, "lock lost", lostAttrs),
		Released: func(e Event) {
			switch {
			case e.Err == nil:
				done(e)
			case errors.Is(e.Err, ErrNotHeld): // Lost has been told why
				gone(e)
			default:
				undone(e)
			}
		},
		Retrying:     logAt(l, slog.LevelWarn, "lock retried", retryingAttrs),
		Reconnecting: logAt(l, slog.LevelWarn, "lock connection broken", reconnectingAttrs),
		Degraded:     logAt(l, slog.LevelWarn, "lock waiting degraded", degradedAttrs),
		Leaked:       logAt(l, slog.LevelError, "lock leaked", leakedAttrs),
		Warning:      logAt(l, slog.LevelWarn, "lock warning", warningAttrs),
	}
}

// logAt returns a hook that writes a record. The attributes are made only for a level that is
// enabled: at debug a program with many locks has many.
func logAt(l *slog.Logger, at slog.Level, message string, attrs func(Event) []slog.Attr) func(Event) {
	return func(e Event) {
		to := l
		if to == nil {
			to = slog.Default()
		}
		if ctx := context.Background(); to.Enabled(ctx, at) {
			to.LogAttrs(ctx, at, message, attrs(e)...)
		}
	}
}

func acquiredAttrs(e Event) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("lock", e.Name), slog.String("label", e.Owner.Label),
		slog.Duration("waited", e.Waited),
	}
	if e.Fence != 0 {
		attrs = append(attrs, slog.Int64("fence", e.Fence))
	}
	return appendTime(attrs, "until", e.Until)
}

func waitingAttrs(e Event) []slog.Attr {
	attrs := []slog.Attr{slog.String("lock", e.Name), slog.Duration("waited", e.Waited)}
	o := e.Owner
	if o.Label != "" {
		attrs = append(attrs, slog.String("owner", o.Label))
	}
	if o.Host != "" {
		attrs = append(attrs, slog.String("host", o.Host), slog.Int("pid", o.PID))
	}
	if o.Kept {
		attrs = append(attrs, slog.Bool("kept", true))
	}
	if o.TTL != NoExpiry {
		attrs = append(attrs, slog.Duration("ttl", o.TTL))
	}
	return appendTime(attrs, "since", o.Since)
}

func renewedAttrs(e Event) []slog.Attr {
	return appendTime([]slog.Attr{slog.String("lock", e.Name)}, "until", e.Until)
}

func renewalFailedAttrs(e Event) []slog.Attr {
	attrs := []slog.Attr{slog.String("lock", e.Name), slog.Any("error", e.Err)}
	return appendTime(attrs, "until", e.Until)
}

func lostAttrs(e Event) []slog.Attr {
	return []slog.Attr{slog.String("lock", e.Name), slog.Any("error", e.Err)}
}

func releasedAttrs(e Event) []slog.Attr {
	attrs := []slog.Attr{slog.String("lock", e.Name)}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	return attrs
}

func retryingAttrs(e Event) []slog.Attr {
	return []slog.Attr{
		slog.String("lock", e.Name), slog.Any("error", e.Err),
		slog.Duration("for", e.Waited), slog.Int("times", e.Times),
	}
}

func reconnectingAttrs(e Event) []slog.Attr {
	return []slog.Attr{slog.Any("error", e.Err), slog.Int("times", e.Times)}
}

func degradedAttrs(e Event) []slog.Attr { return []slog.Attr{slog.Any("error", e.Err)} }

func leakedAttrs(e Event) []slog.Attr { return []slog.Attr{slog.String("lock", e.Name)} }

func warningAttrs(e Event) []slog.Attr {
	attrs := []slog.Attr{slog.Any("detail", e.Err)}
	if e.Name != "" {
		attrs = append(attrs, slog.String("lock", e.Name))
	}
	return attrs
}

// appendTime leaves out the zero time, which stands for none.
func appendTime(attrs []slog.Attr, key string, t time.Time) []slog.Attr {
	if t.IsZero() {
		return attrs
	}
	return append(attrs, slog.Time(key, t))
}

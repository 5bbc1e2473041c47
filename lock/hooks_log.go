package lock

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// LogHooks returns hooks that write to a logger; nil is slog.Default() at the time of each record.
// Join them with hooks of your own by [JoinHooks].
//
//	debug  lock renewed
//	info   lock acquired, waiting for lock, lock released, lock was not held any more
//	warn   lock renewal failed, lock release failed, lock retried, lock connection broken,
//	       lock waiting degraded, lock warning
//	error  lock lost, lock leaked
//
// The attributes are lock (its name), label (ours), owner, host and pid (of who holds it), kept (it
// has released the lock, see [Owner]), since and until (times), ttl, waited and for (durations),
// times (a number), fence, kind, detail and error; one without a value is left out, such as the ttl of a lock without expiry.
// None carries the random part of an owner's id, or a password. A level that is not enabled costs a
// question to the handler.
//
// A handler that blocks is a hook that blocks: see [Hooks].
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
		Released: func(i ReleasedInfo) {
			switch {
			case i.Err == nil:
				done(i)
			case errors.Is(i.Err, ErrNotHeld): // Lost has been told why
				gone(i)
			default:
				undone(i)
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
func logAt[I any](l *slog.Logger, at slog.Level, message string, attrs func(I) []slog.Attr) func(I) {
	return func(info I) {
		to := l
		if to == nil {
			to = slog.Default()
		}
		if ctx := context.Background(); to.Enabled(ctx, at) {
			to.LogAttrs(ctx, at, message, attrs(info)...)
		}
	}
}

func acquiredAttrs(i AcquiredInfo) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("lock", i.Name), slog.String("label", i.Label), slog.Duration("waited", i.Waited),
	}
	if i.Fence != 0 {
		attrs = append(attrs, slog.Int64("fence", i.Fence))
	}
	return appendTime(attrs, "until", i.Until)
}

func waitingAttrs(i WaitingInfo) []slog.Attr {
	attrs := []slog.Attr{slog.String("lock", i.Name), slog.Duration("waited", i.Waited)}
	o := i.Owner
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

func renewedAttrs(i RenewedInfo) []slog.Attr {
	return appendTime([]slog.Attr{slog.String("lock", i.Name)}, "until", i.Until)
}

func renewalFailedAttrs(i RenewalFailedInfo) []slog.Attr {
	attrs := []slog.Attr{slog.String("lock", i.Name), slog.Any("error", i.Err)}
	return appendTime(attrs, "until", i.Until)
}

func lostAttrs(i LostInfo) []slog.Attr {
	return []slog.Attr{slog.String("lock", i.Name), slog.Any("error", i.Err)}
}

func releasedAttrs(i ReleasedInfo) []slog.Attr {
	attrs := []slog.Attr{slog.String("lock", i.Name)}
	if i.Err != nil {
		attrs = append(attrs, slog.Any("error", i.Err))
	}
	return attrs
}

func retryingAttrs(i RetryingInfo) []slog.Attr {
	return []slog.Attr{
		slog.String("lock", i.Name), slog.Any("error", i.Err),
		slog.Duration("for", i.For), slog.Int("times", i.Times),
	}
}

func reconnectingAttrs(i ReconnectingInfo) []slog.Attr {
	return []slog.Attr{slog.Any("error", i.Err), slog.Int("times", i.Times)}
}

func degradedAttrs(i DegradedInfo) []slog.Attr { return []slog.Attr{slog.Any("error", i.Err)} }

func leakedAttrs(i LeakedInfo) []slog.Attr { return []slog.Attr{slog.String("lock", i.Name)} }

func warningAttrs(i WarningInfo) []slog.Attr {
	attrs := []slog.Attr{slog.String("kind", i.Kind.String()), slog.String("detail", i.Text)}
	if i.Name != "" {
		attrs = append(attrs, slog.String("lock", i.Name))
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

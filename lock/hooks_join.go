package lock

// JoinHooks returns hooks that call several ones: each calls those that are set, in the order given,
// on the same goroutine. A hook that none has set stays nil, which costs nothing. If one panics, those
// behind it are not called.
func JoinHooks(hooks ...Hooks) Hooks {
	return Hooks{
		Acquired:      join(hooks, func(h *Hooks) func(AcquiredInfo) { return h.Acquired }),
		Waiting:       join(hooks, func(h *Hooks) func(WaitingInfo) { return h.Waiting }),
		Renewed:       join(hooks, func(h *Hooks) func(RenewedInfo) { return h.Renewed }),
		RenewalFailed: join(hooks, func(h *Hooks) func(RenewalFailedInfo) { return h.RenewalFailed }),
		Lost:          join(hooks, func(h *Hooks) func(LostInfo) { return h.Lost }),
		Released:      join(hooks, func(h *Hooks) func(ReleasedInfo) { return h.Released }),
		Retrying:      join(hooks, func(h *Hooks) func(RetryingInfo) { return h.Retrying }),
		Reconnecting:  join(hooks, func(h *Hooks) func(ReconnectingInfo) { return h.Reconnecting }),
		Degraded:      join(hooks, func(h *Hooks) func(DegradedInfo) { return h.Degraded }),
		Leaked:        join(hooks, func(h *Hooks) func(LeakedInfo) { return h.Leaked }),
		Warning:       join(hooks, func(h *Hooks) func(WarningInfo) { return h.Warning }),
	}
}

// join returns one field's hook.
func join[I any](hooks []Hooks, field func(*Hooks) func(I)) func(I) {
	var set []func(I)
	for i := range hooks {
		if hook := field(&hooks[i]); hook != nil {
			set = append(set, hook)
		}
	}
	switch len(set) {
	case 0:
		return nil
	case 1:
		return set[0]
	}
	return func(info I) {
		for _, hook := range set {
			hook(info)
		}
	}
}

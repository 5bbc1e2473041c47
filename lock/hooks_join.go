package lock

// JoinHooks returns hooks that call several ones. Each calls those that are set, in the order
// given, on the same goroutine. A hook that none has set stays nil, which costs nothing. If one
// panics, those behind it are not called.
func JoinHooks(hooks ...Hooks) Hooks {
	return Hooks{
		Acquired:      join(hooks, func(h *Hooks) func(Event) { return h.Acquired }),
		Waiting:       join(hooks, func(h *Hooks) func(Event) { return h.Waiting }),
		Renewed:       join(hooks, func(h *Hooks) func(Event) { return h.Renewed }),
		RenewalFailed: join(hooks, func(h *Hooks) func(Event) { return h.RenewalFailed }),
		Lost:          join(hooks, func(h *Hooks) func(Event) { return h.Lost }),
		Released:      join(hooks, func(h *Hooks) func(Event) { return h.Released }),
		Retrying:      join(hooks, func(h *Hooks) func(Event) { return h.Retrying }),
		Reconnecting:  join(hooks, func(h *Hooks) func(Event) { return h.Reconnecting }),
		Degraded:      join(hooks, func(h *Hooks) func(Event) { return h.Degraded }),
		Leaked:        join(hooks, func(h *Hooks) func(Event) { return h.Leaked }),
		Warning:       join(hooks, func(h *Hooks) func(Event) { return h.Warning }),
	}
}

// join returns one field's hook.
func join(hooks []Hooks, field func(*Hooks) func(Event)) func(Event) {
	var set []func(Event)
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
	return func(e Event) {
		for _, hook := range set {
			hook(e)
		}
	}
}

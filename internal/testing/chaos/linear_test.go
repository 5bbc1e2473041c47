package chaos_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-go/holdfast/internal/testing/chaos"
)

// The model is a mutex with fencing tokens. What it is given is what succeeded: who failed, or does not
// know, believes nothing.
type mutexState struct {
	holder int // of the leases; none: -1
	token  int64
}

type mutexInput struct {
	end   bool
	lease int // which one
	token int64
}

var mutexModel = porcupine.Model{
	Init: func() any { return mutexState{holder: -1} },
	Step: func(state, input, _ any) (bool, any) {
		s, in := state.(mutexState), input.(mutexInput)
		if in.end {
			return s.holder == in.lease, mutexState{-1, s.token}
		}
		free := s.holder == -1 && (in.token == 0 || in.token > s.token)
		return free, mutexState{in.lease, max(s.token, in.token)}
	},
	DescribeOperation: func(input, _ any) string {
		if in := input.(mutexInput); !in.end {
			return fmt.Sprintf("lease %d, token %d", in.lease, in.token)
		}
		return "end"
	},
}

// most is how many operations are checked at a time: the time that it takes grows with their square.
const most = 20_000

// linear checks a history with porcupine, name by name. It returns what is wrong, and the picture of
// the first that is. It cannot be used where an operator takes locks away.
func linear(h *chaos.History) (found []chaos.Violation, picture *porcupine.LinearizationInfo) {
	if h.Config.Operator {
		return nil, nil
	}
	for name, ops := range operations(h) {
		if len(ops) > most {
			text := fmt.Sprintf("%s has %d operations: make rounds shorter", name, len(ops))
			found = append(found, chaos.Violation{Rule: "linear", Text: text})
			continue
		}
		model := mutexModel
		before := h.Before[name]
		model.Init = func() any { return mutexState{-1, before} }
		result, info := porcupine.CheckOperationsVerbose(model, ops, time.Minute)
		if result != porcupine.Ok {
			text := fmt.Sprintf("%s: %v", name, result)
			found = append(found, chaos.Violation{Rule: "linear", Text: text})
			picture = cmp.Or(picture, &info)
		}
	}
	return found, picture
}

// operations makes an acquire and an end of each belief.
func operations(h *chaos.History) map[string][]porcupine.Operation {
	all := map[string][]porcupine.Operation{}
	for i, l := range h.Leases {
		if l.End < l.Begin {
			continue
		}
		all[l.Name] = append(
			all[l.Name],
			porcupine.Operation{
				ClientId: l.Worker, Input: mutexInput{lease: i, token: l.Fence},
				Call: int64(l.Call), Return: int64(l.Begin),
			},
			porcupine.Operation{
				ClientId: l.Worker, Input: mutexInput{end: true, lease: i},
				Call: int64(l.End), Return: int64(l.End),
			},
		)
	}
	return all
}

// verdict is all that is wrong with a history.
func verdict(h *chaos.History) (found []chaos.Violation, picture *porcupine.LinearizationInfo) {
	linearly, picture := linear(h)
	found = append(chaos.Check(h), linearly...)
	slices.SortFunc(found, func(a, b chaos.Violation) int { return cmp.Compare(a.Rule, b.Rule) })
	return found, picture
}

package owner

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const random = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	since := time.UnixMilli(1469922850259)
	for value, want := range map[string]ID{
		"db3:41/" + random:           {Label: "db3:41", Host: "db3", PID: 41, Since: since},
		"db3:41/" + random + "/kept": {Label: "db3:41", Host: "db3", PID: 41, Since: since, Kept: true},
		"a/b/" + random:              {Label: "a/b", Since: since},
		"db3:41#x":                   {Label: "db3:41", Host: "db3", PID: 41},
		"a#b#c":                      {Label: "a#b"},
		"worker-7#x/kept":            {Label: "worker-7", Kept: true},
		// Nothing of an id is shown that is not marked.
		"worker-7":              {},
		"ab/cdEFGH12+/ijklmno=": {},
		"#secret":               {},
		"secret#":               {},
		"a{b}#secret":           {},
		"/" + random:            {},
		"db3/" + random[1:]:     {},
		"":                      {},
	} {
		if got := Parse(value); got != want {
			t.Errorf("%q: %+v, want %+v", value, got, want)
		}
	}
}

func TestDefaultLabelIsOneOfAProcess(t *testing.T) {
	t.Parallel()
	label := DefaultLabel()
	if host, pid := process(label); host != Hostname() || pid < 1 || CheckLabel(label) != nil {
		t.Errorf("%q is of host %q, process %d: %v", label, host, pid, CheckLabel(label))
	}
	if CheckChosenLabel(label) == nil {
		t.Errorf("a user may call himself %q", label)
	}
}

// What an owner is called says no more than is known.
func TestOwnerTexts(t *testing.T) {
	t.Parallel()
	const id = "importer/01ARZ3NDEKTSV4RRFFQ69G5FAV"
	since := Parse(id).Since.Format(time.RFC3339)
	for value, want := range map[string]string{
		id:               "importer since " + since,
		id + "/kept":     "importer since " + since + " (not held: blocked, or kept for its minimum after the release)",
		"YWJjZGVm":       "an owner with an id of its own choice",
		"db3#yTq0w7Zk3A": "db3, under an id of its own",
	} {
		if got := Parse(value).String(); got != want {
			t.Errorf("%q is called %q, want %q", value, got, want)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReport(t *testing.T) {
	t.Parallel()
	events := `
{"Action":"build-output","ImportPath":"m/broken","Output":"broken.go:1: no\n"}
{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"chatter\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestBad","Output":"    a_test.go:1: it broke\n"}
{"Action":"fail","Package":"m/a","Test":"TestBad"}
{"Action":"output","Package":"m/a","Test":"TestA","Output":"    a_test.go:2: SKIP TestA: no Redis: why\n"}
{"Action":"output","Package":"m/a","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestA"}
{"Action":"output","Package":"m/a","Test":"TestB","Output":"    a_test.go:3: SKIP TestB: no Redis: why\n"}
{"Action":"skip","Package":"m/a","Test":"TestB"}
{"Action":"output","Package":"m/a","Test":"TestC","Output":"    a_test.go:4: short\n"}
{"Action":"skip","Package":"m/a","Test":"TestC"}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"FAIL\tm/a\t1s\n"}
{"Action":"fail","Package":"m/a"}
{"Action":"output","Package":"m/b","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"m/b"}
not an event
`
	var out strings.Builder
	r := newReport(&out)
	if err := r.read(strings.NewReader(strings.TrimPrefix(events, "\n"))); err != nil {
		t.Fatal(err)
	}
	r.finish()
	want := `broken.go:1: no
    a_test.go:1: it broke
FAIL	m/a	1s
panic: test timed out
not an event

1 passed, 1 failed, 3 skipped
  skipped 2: no Redis: why (TestA, TestB)
  skipped 1: a_test.go:4: short (TestC)
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestRunFailsAsGoTestFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, arg, shows string
		fails            bool
	}{
		{"no such package", "./nosuch", "0 passed", true},
		{"no tests", "-run=^$", "0 passed, 0 failed, 0 skipped", false},
		{"good test", "-run=^TestReport$", "1 passed, 0 failed, 0 skipped", false},
		{"bad flag", "-nosuchflag", "0 passed", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			code, err := run([]string{"."}, []string{test.arg}, &out)
			if (code != 0) != test.fails || !strings.Contains(out.String(), test.shows) {
				t.Errorf("code %d, %v:\n%s", code, err, out.String())
			}
		})
	}
}

// Two modules have one summary, and it goes on behind one that fails.
func TestRunInModules(t *testing.T) {
	t.Parallel()
	var dirs []string
	for name, body := range map[string]string{
		"TestBad": `t.Error("it broke")`, "TestSkips": `t.Skip("SKIP TestSkips: no such luck")`,
	} {
		dir := t.TempDir()
		source := "package m\n\nimport \"testing\"\n\nfunc " + name + "(t *testing.T) { " + body + " }\n"
		for file, text := range map[string]string{"go.mod": "module example.com/m\n", "m_test.go": source} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		dirs = append(dirs, dir)
	}
	modules, args := split([]string{dirs[0], dirs[1], ".", "--", "-run=^(TestBad|TestSkips|TestReport)$"})
	var out strings.Builder
	code, err := run(modules, args, &out)
	want := "\n1 passed, 1 failed, 1 skipped\n  skipped 1: no such luck (TestSkips)\n"
	if code != 1 || err != nil || !strings.HasSuffix(out.String(), want) {
		t.Errorf("code %d, %v:\n%s\nwant at the end:%s", code, err, out.String(), want)
	}
	if modules, args := split([]string{"-race", "./..."}); len(modules) != 1 || len(args) != 2 {
		t.Errorf("without modules: %q, %q", modules, args)
	}
}

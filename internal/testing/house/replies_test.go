package house

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// parsers are the packages that may parse what Redis replies, and why.
var parsers = map[string]string{
	"internal/anyredis":    "it deletes the keys of the demo",
	"internal/redisconn":   "it carries replies, and tells from its own that a connection is broken",
	"internal/testing/...": "tests look at Redis themselves",
	"lock":                 "it speaks to Redis",
	"pool":                 "its members are a sorted set",
	"bench":                "the peers to measure against are written by hand",
}

// helpers are redigo's functions that make something of a reply, and the type of error that Redis
// replies.
var helpers = strings.Fields(`
	Bool Bytes ByteSlices Error Float64 Float64Map Float64s Int Int64 Int64Map Int64s IntMap Ints
	Latencies LatencyHistories Positions Scan ScanSlice ScanStruct SlowLogs String StringMap Strings
	Uint64 Uint64Map Uint64s Values`)

// TestReplies finds out who calls redigo's helpers for replies, or looks into redis.Error.
func TestReplies(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	files, err := readCode(set)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		may := slices.ContainsFunc(slices.Collect(maps.Keys(parsers)), func(name string) bool {
			return row{name: name}.covers(f.pkg)
		})
		for _, use := range helped(f) {
			if !may {
				t.Errorf("%s: redis.%s: package %s does not parse replies", set.Position(use.Pos()), use.Sel.Name, f.pkg)
			}
		}
	}
	for name := range parsers {
		var uses []*ast.SelectorExpr
		for _, f := range in(files, row{name: name}) {
			uses = append(uses, helped(f)...)
		}
		if len(uses) == 0 {
			t.Errorf("%s may parse replies, and does not", name)
		}
	}
}

// helped returns where a file uses a helper.
func helped(f file) []*ast.SelectorExpr {
	var uses []*ast.SelectorExpr
	if !slices.Contains(f.imports(), "redigo") {
		return nil
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(helpers, s.Sel.Name) {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "redis" {
				uses = append(uses, s)
			}
		}
		return true
	})
	return uses
}

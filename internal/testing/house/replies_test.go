package house

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// Users are packages that may use something of redigo's, and why.
type users map[string]string

// redigo has the names of package redis which not everybody may use.
var redigo = []struct {
	names []string
	users users
}{
	{ // what makes something of a reply
		strings.Fields(`
			Bool Bytes ByteSlices Float64 Float64Map Float64s Int Int64 Int64Map Int64s IntMap Ints
			Latencies LatencyHistories Positions Scan ScanSlice ScanStruct SlowLogs String StringMap Strings
			Uint64 Uint64Map Uint64s Values`),
		users{
			"internal/store":       "it speaks to Redis",
			"internal/anyredis":    "it deletes the keys of the demo",
			"internal/testing/...": "tests look at Redis themselves",
			"bench":                "the peers to measure against are written by hand",
		},
	},
	{ // an error that Redis replies
		[]string{"Error"},
		users{
			"internal/store":       "it says what a refusal means",
			"internal/redisconn":   "it carries replies, and tells from its own that a connection is of no use",
			"internal/testing/...": "tests look at Redis themselves",
		},
	},
}

// TestReplies finds out who uses these.
func TestReplies(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	files, err := readCode(set)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range redigo {
		used := users{}
		for _, f := range files {
			for _, use := range uses(f, r.names) {
				user := r.users.of(f.pkg)
				if user == "" {
					t.Errorf("%s: redis.%s: package %s may not use it", set.Position(use.Pos()), use.Sel.Name, f.pkg)
				}
				used[user] = use.Sel.Name
			}
		}
		for name := range r.users {
			if used[name] == "" {
				t.Errorf("%s may use redis.%s, and does not", name, strings.Join(r.names, ", "))
			}
		}
	}
}

// of returns the name under which a package is among the users, "" if it is not.
func (u users) of(pkg string) string {
	for name := range u {
		if (row{name: name}).covers(pkg) {
			return name
		}
	}
	return ""
}

// uses returns where a file uses something of package redis.
func uses(f file, names []string) []*ast.SelectorExpr {
	var found []*ast.SelectorExpr
	if !slices.Contains(f.imports(), "redigo") {
		return nil
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(names, s.Sel.Name) {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "redis" {
				found = append(found, s)
			}
		}
		return true
	})
	return found
}

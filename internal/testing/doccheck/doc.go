// Package doccheck type-checks the Go code in README.md, CONTRIBUTING.md and docs: every block that
// a fence of the form ```go begins. It consists of a test, and of [Tests] for other checks of documents.
//
// A block that begins with a package clause is a file, together with the blocks of declarations that
// come later in the document, and must compile as it is. Any other is a fragment: declarations, or the
// statements of a function that returns what its return statements do. A fragment need not use all
// that it declares. It may use the packages in imports without importing them, the variables in
// variables without declaring them, and whatever a comment right above the fence declares, which
// readers do not see:
//
//	<!-- go: var reports []string; func build(ctx context.Context, report string) error -->
//
// What is wrong is told with the document's file and line.
package doccheck

const module = "github.com/holdfast-go/holdfast/"

// imports are the packages that fragments may use without importing them.
var imports = map[string]string{
	"context":  "context",
	"errors":   "errors",
	"expvar":   "expvar",
	"fmt":      "fmt",
	"http":     "net/http",
	"log":      "log",
	"os":       "os",
	"slog":     "log/slog",
	"sync":     "sync",
	"synctest": "testing/synctest",
	"testing":  "testing",
	"time":     "time",
	"tls":      "crypto/tls",
	"x509":     "crypto/x509",
	"redis":    "github.com/gomodule/redigo/redis",
	"lock":     module + "lock",
	"locktest": module + "locktest",
}

// variables are those that fragments may use without declaring them, and their types.
var variables = map[string]string{
	"ctx":   "context.Context",
	"err":   "error",
	"c":     "*lock.Client",
	"m":     "*lock.Mutex",
	"lease": "*lock.Lease",
	"pool":  "*redis.Pool",
	"t":     "*testing.T",
	"roots": "*x509.CertPool",
	"name":  "string", // of a lock
	"id":    "string", // of an owner
}

package doctor

import (
	"github.com/holdfast-go/holdfast/internal/store"
)

// An examination is what was learnt of a Redis. The findings are made of it afterwards, and ask
// nothing more. So they can be tested without a server, and each can refer to the others.
type examination struct {
	times  []store.Clock
	facts  *store.Facts
	role   string                  // what ROLE says, if INFO does not tell; "" for nothing
	probed map[string]store.Probed // by the key's kind; nil if not tried
	named  error                   // how CLIENT SETNAME was refused
	popped error                   // how BLPOP was, if it was tried
	waited bool                    // BLPOP was tried
	tagged bool                    // the client's prefix has a hash tag
}

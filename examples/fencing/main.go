// Fencing protects what a lock guards from a holder that lost the lock and does not know it yet:
// every lease has a token, and the store refuses one that is smaller than one it has seen.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// A store is the resource that the lock guards: a table, a bucket, a device. In SQL it is
// UPDATE ... SET value = $1, fence = $2 WHERE key = $3 AND fence <= $2.
type store struct{ fence int64 } // the greatest token seen

var errOld = errors.New("store: the fencing token is older than one that was here")

func (s *store) write(fence int64, value string) error {
	if fence < s.fence {
		return errOld
	}
	s.fence = fence
	fmt.Printf("store: written %s with token %d\n", value, fence)
	return nil
}

// save writes under a lease. Valid costs nothing and spares the store most of the stale writes;
// the token stops those that slip between it and the write.
func save(s *store, lease *lock.Lease, value string) error {
	if !lease.Valid() {
		return lease.Err()
	}
	return s.write(lease.Fence(), value)
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client, err := lock.Open(os.Getenv("REDIS_URL"), &lock.Options{Prefix: "example:", TTL: 5 * time.Second})
	if err != nil {
		return err
	}
	defer client.Close()
	stock, s := client.Mutex("stock"), &store{}
	first, err := stock.Lock(ctx)
	if err != nil {
		return err
	}
	// An operator takes the lock away from it, and somebody else gets it and writes.
	_, _, reset := client.Reset(ctx, "stock")
	second, err := stock.Lock(ctx)
	if err = errors.Join(reset, err); err != nil {
		return err
	}
	if err = save(s, second, "by the second holder"); err != nil {
		return err
	}
	fmt.Println("the first holder thinks that its lease is valid:", first.Valid())
	if err = save(s, first, "by the first holder"); !errors.Is(err, errOld) {
		return fmt.Errorf("expected the store to refuse, got: %w", err)
	}
	fmt.Println("the first holder is refused:", err)
	<-first.Done() // at its next renewal it is told
	fmt.Println("later it knows better:", save(s, first, "by the first holder"))
	return second.Unlock(ctx)
}

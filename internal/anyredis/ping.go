package anyredis

import (
	"context"

	"github.com/gomodule/redigo/redis"

	"github.com/holdfast-go/holdfast/internal/redisconn"
)

// ping asks whether a server answers.
func ping(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := dial(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = redis.DoContext(c, ctx, "PING")
	return err
}

func dial(ctx context.Context, url string) (redis.Conn, error) {
	dialer, err := redisconn.ParseURL(url)
	if err != nil {
		return nil, err
	}
	return dialer.Connect(ctx)
}

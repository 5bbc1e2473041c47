package anyredis

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/gomodule/redigo/redis"
)

// foreign takes the server at REDIS_URL.
func (r *Redis) foreign(ctx context.Context) error {
	if err := ping(ctx, r.URL); err != nil {
		return fmt.Errorf("the server that %s names cannot be used: %w", Variable, err)
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return errors.New("bug: a URL that was dialled cannot be parsed")
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawQuery: u.RawQuery}
	r.About = fmt.Sprintf("the server at %s, from %s", &shown, Variable)
	r.stop = func() error { return sweep(r.URL, r.Prefix) }
	return nil
}

// sweep deletes the keys that begin with a prefix, which has no characters that mean something in a
// pattern.
func sweep(url, prefix string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c, err := dial(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close()
	for cursor := "0"; ; {
		reply, err := redis.Values(
			redis.DoContext(c, ctx, "SCAN", cursor, "MATCH", prefix+"*", "COUNT", 1000))
		if err != nil {
			return err
		}
		var keys []any
		if _, err := redis.Scan(reply, &cursor, &keys); err != nil {
			return err
		}
		if len(keys) > 0 {
			if _, err := redis.DoContext(c, ctx, "DEL", keys...); err != nil {
				return err
			}
		}
		if cursor == "0" {
			return nil
		}
	}
}

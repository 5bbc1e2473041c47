package redisconn

import (
	"errors"
	"net/url"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// errURL stands for what redigo's DialURL, in a pool's dialer, says of a URL that it cannot use.
// DialURL repeats the URL, or the piece that it does not like. A password with an unescaped special
// character can end up in every piece.
var errURL = errors.New("the pool's dialer cannot use its URL, which is not repeated here: " +
	howToWrite)

const howToWrite = "write redis://[user:password@]host:port/db, with special characters of the" +
	" password percent-encoded (%40 for @, %2F for /)"

// maxErrorText is how many bytes of an error reply are kept.
const maxErrorText = 1 << 10

// discreet cuts off what an error reply quotes of our command: where AUTH is not known, that is the
// password, and where EVALSHA is not, an owner's id. It also cuts what is too long to be read.
// Errors that quote a URL are replaced.
func discreet(err error) error {
	if reply, ok := refusal(err); ok {
		text, _, cut := strings.Cut(string(reply), ", with args")
		if len(text) > maxErrorText {
			text, cut = strings.ToValidUTF8(text[:maxErrorText], "")+"…", true
		}
		if cut {
			return redis.Error(text)
		}
		return err
	}
	var bad *url.Error
	text := err.Error()
	if errors.As(err, &bad) && bad.Op == "parse" || strings.Contains(text, "invalid redis URL") ||
		strings.Contains(text, "invalid database: ") {
		return errURL
	}
	return err
}

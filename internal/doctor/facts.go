package doctor

import (
	"fmt"

	"github.com/holdfast-go/holdfast/internal/store"
)

// What to do when Redis does not tell. Neither command is needed for locks, so that many users do
// without, and the operator knows the answer.
const (
	allowInfo   = "allow +info, or ask the operator"
	allowConfig = "allow +config|get, or ask the operator"
)

// facts are what a server says of itself.
type facts struct {
	*store.Facts
	of *examination
}

// either returns what INFO says under a key or, without it, CONFIG GET; "" if neither does. Hosted
// servers often refuse CONFIG.
func (f facts) either(info, config string) string {
	if value := f.Info[info]; value != "" {
		return value
	}
	return f.Config[config]
}

// untold is the finding of something that INFO does not tell. Why it does not is looked for once,
// by how INFO itself was refused.
func (f facts) untold(subject string) Finding {
	return f.of.withheld(subject, "INFO", f.InfoErr, allowInfo)
}

// unset is the finding of something that CONFIG GET does not tell, and INFO could not.
func (f facts) unset(subject string) Finding {
	return f.of.withheld(subject, "CONFIG GET", f.ConfigErr, allowConfig)
}

// configSet is a remedy. What CONFIG SET sets is forgotten at a restart unless it is in the file.
func configSet(parameter, value string) string {
	return fmt.Sprintf("CONFIG SET %s %s, and in redis.conf (CONFIG REWRITE)", parameter, value)
}

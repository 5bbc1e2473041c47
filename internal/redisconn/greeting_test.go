package redisconn

import (
	"slices"
	"testing"
	"time"
)

// The greeting goes out in one write. What the server says to it does not matter, unless it says that
// the connection is of no use.
func TestGreeting(t *testing.T) {
	for reply, refused := range map[string]bool{
		"+OK": false,
		"-ERR Client names cannot contain spaces, newlines or special characters.": false,
		"-ERR unknown command 'CLIENT'":                                            false,
		"-NOPERM no permissions to run the 'client|setname' command":               false,
		"-BUSY Redis is busy running a script.":                                    false,
		"-ERR max number of clients reached":                                       true,
		"-NOAUTH Authentication required.":                                         true,
		"-DENIED Redis is running in protected mode":                               true,
		"-LOADING Redis is loading the dataset in memory":                          true,
	} {
		bubbleRun(t, reply, func(t *testing.T) {
			f := newFake()
			var greeting []string
			f.setAnswer(func(cmd string) string { greeting = append(greeting, cmd); return reply + "\r\n" })
			s := newFakeSource(f)
			link, err := s.NewPort().Dial(time.Second)
			if s.Met() == refused {
				t.Errorf("met: %v", s.Met())
			}
			want := []string{"CLIENT SETNAME holdfast:test", "CLIENT ID", "INFO server"}
			if _, _, writes := f.counts(); writes != 1 || !slices.Equal(greeting, want) {
				t.Errorf("greeted with %q in %d writes, want one", greeting, writes)
			}
			if refused {
				if err == nil || "-"+err.Error() != reply {
					t.Errorf("error %v, want the reply", err)
				}
				if _, open, _ := f.counts(); open != 0 {
					t.Errorf("%d connections are open", open)
				}
			} else if err != nil {
				t.Error(err)
			} else {
				link.Close()
			}
			s.Close(time.Second)
		})
	}
}

// AUTH and SELECT come first, in the same write, and their errors are the dial's.
func TestGreetingOfTheDialer(t *testing.T) {
	for refused, want := range map[string]string{
		"":       "",
		"AUTH":   "WRONGPASS invalid username-password pair or user is disabled.",
		"SELECT": "ERR DB index is out of range",
	} {
		bubbleRun(t, refused, func(t *testing.T) {
			f := newFake()
			var greeting []string
			f.setAnswer(func(cmd string) string {
				greeting = append(greeting, cmd)
				if refused != "" && len(cmd) > len(refused) && cmd[:len(refused)] == refused {
					return "-" + want + "\r\n"
				}
				return "+OK\r\n"
			})
			s := newFakeSource(f)
			s.dialer.Greeting = []Command{Cmd("AUTH", "me", "secret"), Cmd("SELECT", 3)}
			link, err := s.NewPort().Dial(time.Second)
			if _, _, writes := f.counts(); writes != 1 || !slices.Equal(greeting[:2], []string{"AUTH me secret", "SELECT 3"}) {
				t.Errorf("greeted with %q in %d writes, want one", greeting, writes)
			}
			switch {
			case want == "" && err != nil, want != "" && (err == nil || err.Error() != want):
				t.Errorf("error %v, want %q", err, want)
			case err == nil:
				link.Close()
			}
			s.Close(time.Second)
		})
	}
}

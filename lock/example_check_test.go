package lock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast/lock"
)

// A program looks at its Redis when it starts, and tells an operator what to do about it.
func ExampleClient_Check() {
	url, stop := startRedis() // keeps nothing on disk
	defer stop()
	c, _ := lock.Open(url, nil)
	defer c.Close()

	findings, err := c.Check(context.Background())
	if err != nil {
		log.Fatal(err) // Redis cannot be reached
	}
	problems := 0
	for _, f := range findings {
		switch f.Level {
		case lock.LevelProblem:
			problems++
			log.Printf("%s: %s; %s", f.Subject, f.Text, f.Remedy)
		case lock.LevelAdvice:
			log.Printf("%s: %s", f.Subject, f.Remedy)
		}
	}
	fmt.Println(problems, "problems")
	// Output: 0 problems
}

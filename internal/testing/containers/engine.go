package containers

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

const (
	officialImage = "redis:7"
	pullLimit     = 2 * time.Minute
	label         = "holdfast-test" // on every container: who started it, as ownLabel says
)

// engine is the connection to Docker, made when it is first needed.
var engine struct {
	mu sync.Mutex // guards the fields below

	pool  *dockertest.Pool
	image string
	err   error // why there is no engine or no image
}

// dockerImage returns an image of Redis that the engine has: the official one, or where no registry
// answers one made of this machine's own redis-server.
func dockerImage() (string, error) {
	engine.mu.Lock()
	defer engine.mu.Unlock()
	if engine.image != "" || engine.err != nil {
		return engine.image, engine.err
	}
	engine.pool, engine.err = dockertest.NewPool("")
	if engine.err == nil {
		engine.err = engine.pool.Client.Ping()
	}
	if engine.err != nil {
		return "", engine.err
	}
	sweep(engine.pool.Client)
	engine.image, engine.err = findImage(engine.pool.Client)
	return engine.image, engine.err
}

func findImage(c *docker.Client) (string, error) {
	for _, image := range []string{officialImage, localImage} {
		if _, err := c.InspectImage(image); err == nil {
			return image, nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), pullLimit)
	defer cancel()
	repository, tag, _ := strings.Cut(officialImage, ":")
	pulled := c.PullImage(docker.PullImageOptions{Repository: repository, Tag: tag, Context: ctx},
		docker.AuthConfiguration{})
	if pulled == nil {
		return officialImage, nil
	}
	if err := importImage(c); err != nil {
		return "", fmt.Errorf("pulling %s: %w; making an image: %w", officialImage, pulled, err)
	}
	return localImage, nil
}

// disconnectEngine ends the idle connections to the engine.
func disconnectEngine() {
	engine.mu.Lock()
	defer engine.mu.Unlock()
	if engine.pool != nil {
		engine.pool.Client.HTTPClient.CloseIdleConnections()
	}
}

// ownLabel says which process a container belongs to.
func ownLabel(pid int) string {
	name, _ := os.Hostname()
	return name + ":" + strconv.Itoa(pid)
}

// sweep removes the containers of test binaries on this host that were killed before they could.
func sweep(c *docker.Client) {
	all, err := c.ListContainers(docker.ListContainersOptions{
		All: true, Filters: map[string][]string{"label": {label}},
	})
	if err != nil {
		return // the next call to the engine will tell
	}
	for _, one := range all {
		_, digits, _ := strings.Cut(one.Labels[label], ":")
		pid, err := strconv.Atoi(digits)
		if err != nil || one.Labels[label] != ownLabel(pid) || alive(pid) {
			continue
		}
		_ = c.RemoveContainer(docker.RemoveContainerOptions{ID: one.ID, Force: true, RemoveVolumes: true})
	}
}

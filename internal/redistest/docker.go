package redistest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
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

// closeDocker ends the idle connections to the engine.
func closeDocker() {
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

// A container is a host: a server in Docker.
type container struct {
	name    string // the container's, known before there is one
	client  *docker.Client
	create  func() error // makes and starts it; for the first start
	created bool
}

// newContainer prepares a server in Docker, on a port that stays the same over restarts.
func newContainer(image string, conf []string) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	repository, tag, _ := strings.Cut(image, ":")
	options := &dockertest.RunOptions{
		Name:       "holdfast-test-" + rand.Text()[:10],
		Repository: repository, Tag: tag,
		Cmd:          append([]string{"redis-server"}, arguments(conf)...),
		ExposedPorts: []string{"6379/tcp"},
		PortBindings: map[docker.Port][]docker.PortBinding{
			"6379/tcp": {{HostIP: "127.0.0.1", HostPort: strconv.Itoa(port)}},
		},
		Labels: map[string]string{label: ownLabel(os.Getpid())},
	}
	pool := engine.pool
	create := func() error { _, err := pool.RunWithOptions(options); return err }
	return &Server{
		network: "tcp", addr: fmt.Sprintf("127.0.0.1:%d", port), password: secret(conf),
		host: &container{name: options.Name, client: pool.Client, create: create},
	}, nil
}

// arguments makes command line arguments of conf lines, behind our defaults.
func arguments(conf []string) []string {
	args := []string{"--protected-mode", "no", "--save", ""}
	for _, line := range conf {
		fields := strings.Fields(strings.ReplaceAll(line, `"`, ""))
		if len(fields) > 0 {
			args = append(append(args, "--"+fields[0]), fields[1:]...)
		}
	}
	return args
}

func (c *container) start() error {
	if !c.created {
		c.created = true // even if it cannot be started, it may be there
		return c.create()
	}
	return c.client.StartContainer(c.name, nil)
}

func (c *container) pause() error  { return c.client.PauseContainer(c.name) }
func (c *container) resume() error { return c.client.UnpauseContainer(c.name) }

func (c *container) kill() error {
	if c.exited() {
		return nil
	}
	err := c.client.KillContainer(docker.KillContainerOptions{ID: c.name, Signal: docker.SIGKILL})
	if err != nil {
		return err
	}
	_, err = c.client.WaitContainer(c.name)
	return err
}

func (c *container) remove() error {
	err := c.client.RemoveContainer(docker.RemoveContainerOptions{
		ID: c.name, Force: true, RemoveVolumes: true,
	})
	if gone := (*docker.NoSuchContainer)(nil); errors.As(err, &gone) {
		return nil
	}
	return err
}

func (c *container) exited() bool {
	now, err := c.client.InspectContainer(c.name)
	return err != nil || !now.State.Running
}

func (c *container) log() string {
	var text bytes.Buffer
	err := c.client.Logs(docker.LogsOptions{
		Container: c.name, OutputStream: &text, ErrorStream: &text, Stdout: true, Stderr: true,
	})
	if err != nil {
		return err.Error()
	}
	return text.String()
}

// pid is 0: the process may be on another machine, and is in a PID namespace of its own.
func (c *container) pid() int { return 0 }

// address is where the container is in its own network, without the published port before it.
func (c *container) address() (string, error) {
	now, err := c.client.InspectContainer(c.name)
	if err != nil {
		return "", err
	}
	for _, network := range now.NetworkSettings.Networks {
		if network.IPAddress != "" {
			return network.IPAddress + ":6379", nil
		}
	}
	return "", errors.New("the container has no address: it is in no network")
}

func (c *container) disconnect() error {
	return c.client.DisconnectNetwork("bridge", docker.NetworkConnectionOptions{Container: c.name, Force: true})
}

func (c *container) connect() error {
	return c.client.ConnectNetwork("bridge", docker.NetworkConnectionOptions{Container: c.name})
}

package containers

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

// A container is a [redistest.Host] in Docker.
type container struct {
	name    string // the container's, known before there is one
	client  *docker.Client
	create  func() error // makes and starts it; for the first start
	created bool
}

// newContainer prepares a server in Docker, at a port of 127.0.0.1 that stays the same over restarts.
func newContainer(image string, port int, conf []string) *container {
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
	return &container{name: options.Name, client: pool.Client, create: create}
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

func (c *container) Start() error {
	if !c.created {
		c.created = true // even if it cannot be started, it may be there
		return c.create()
	}
	return c.client.StartContainer(c.name, nil)
}

func (c *container) Pause() error  { return c.client.PauseContainer(c.name) }
func (c *container) Resume() error { return c.client.UnpauseContainer(c.name) }

func (c *container) Kill() error {
	if c.Exited() {
		return nil
	}
	err := c.client.KillContainer(docker.KillContainerOptions{ID: c.name, Signal: docker.SIGKILL})
	if err != nil {
		return err
	}
	_, err = c.client.WaitContainer(c.name)
	return err
}

func (c *container) Remove() error {
	err := c.client.RemoveContainer(docker.RemoveContainerOptions{
		ID: c.name, Force: true, RemoveVolumes: true,
	})
	if gone := (*docker.NoSuchContainer)(nil); errors.As(err, &gone) {
		return nil
	}
	return err
}

func (c *container) Exited() bool {
	now, err := c.client.InspectContainer(c.name)
	return err != nil || !now.State.Running
}

func (c *container) Log() string {
	var text bytes.Buffer
	err := c.client.Logs(docker.LogsOptions{
		Container: c.name, OutputStream: &text, ErrorStream: &text, Stdout: true, Stderr: true,
	})
	if err != nil {
		return err.Error()
	}
	return text.String()
}

// Pid is 0: the process may be on another machine, and is in a PID namespace of its own.
func (c *container) Pid() int { return 0 }

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

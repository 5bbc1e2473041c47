package containers

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/ory/dockertest/v3/docker"

	"github.com/holdfast-go/holdfast/internal/testing/redistest"
)

// localImage is the name of the image that importImage makes; not the official one's name, so that
// nobody takes it for that.
const localImage = "holdfast-test-redis:local"

// importImage makes an image of this machine's redis-server and the libraries it is linked with.
func importImage(c *docker.Client) error {
	if runtime.GOOS != "linux" {
		return errors.New("the programs of " + runtime.GOOS + " do not run in containers")
	}
	bin, err := redistest.Program()
	if err != nil {
		return err
	}
	files, err := linked(bin)
	if err != nil {
		return err
	}
	files["/usr/local/bin/redis-server"] = bin
	archive, err := pack(files)
	if err != nil {
		return err
	}
	repository, tag, _ := strings.Cut(localImage, ":")
	return c.ImportImage(docker.ImportImageOptions{
		Repository: repository, Tag: tag, Source: "-", InputStream: archive, OutputStream: io.Discard,
	})
}

// linked returns the libraries that a program needs: where it looks for them, and where they are.
func linked(bin string) (map[string]string, error) {
	out, err := exec.Command("ldd", bin).Output()
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for field := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(field, "/") {
			files[field] = field
		}
	}
	return files, nil
}

// pack makes a tar of files, given by their names in it.
func pack(files map[string]string) (io.Reader, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for name, source := range files {
		content, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		header := &tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: 0o755, Size: int64(len(content))}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	return &archive, w.Close()
}

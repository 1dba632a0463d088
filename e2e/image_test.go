package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// checkImage checks that the image has the bill of materials of its binary, and that the binary
// has the bytes of another build: in another folder, with another cache.
func (c *containers) checkImage(t *testing.T) {
	t.Helper()
	id := must(t, c.command(t.Context(), "docker", "create", c.image))
	defer func() { must(t, c.command(t.Context(), "docker", "rm", id)) }()
	copied := func(name string) []byte {
		file := filepath.Join(t.TempDir(), name)
		must(t, c.command(t.Context(), "docker", "cp", id+":/"+name, file))
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	list := strings.TrimSpace(string(copied("rackfab.cdx.json")))
	if own := must(t, c.command(t.Context(), "docker", "run", "--rm", c.image, "version", "--sbom", "-")); list != own || !strings.Contains(own, "pkg:golang/google.golang.org/grpc@") {
		t.Errorf("the bill of materials of the image is\n%s\nwant\n%s", list, own)
	}
	if image, here := copied("rackfab"), c.builtHere(t); !bytes.Equal(image, here) {
		t.Errorf("the binary of the image has %d bytes, and a build of it here %d other ones", len(image), len(here))
	}
}

// builtHere returns the binary that the command of the Dockerfile builds from this clone, by another path than
// that of importGo.
func (c *containers) builtHere(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("../compose/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^ENV GOFLAGS="(.*)"$`).FindSubmatch(text)
	build := regexp.MustCompile(`(?m)^RUN \["go", (.*"/out/rackfab".*)\]$`).FindSubmatch(text)
	if flags == nil || build == nil {
		t.Fatal("the Dockerfile has no GOFLAGS, or no command that builds /out/rackfab")
	}
	file := filepath.Join(t.TempDir(), "rackfab")
	args := strings.NewReplacer(`"`, "", ",", "", "/out/rackfab", file).Replace(string(build[1]))
	cmd := exec.CommandContext(t.Context(), "go", strings.Fields(args)...)
	clone, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir = filepath.Join(t.TempDir(), "another-folder") // the name by which the go command knows it
	if err := os.Symlink(clone, cmd.Dir); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+strings.ReplaceAll(string(flags[1]), "${RACKFAB_VERSION}", imageVersion))
	must(t, cmd)
	binary, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

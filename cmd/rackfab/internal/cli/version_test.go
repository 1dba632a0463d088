package cli

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// A version that the build was given is reported, with a hash that tells apart builds of the same
// version, and does not identify the build for others.
func TestVersionOfABuildWithoutACheckout(t *testing.T) {
	release = "v1.2.3"
	defer func() { release = "" }()
	line, err := Versions()
	if words := strings.Fields(line); err != nil || len(words) != 5 || words[1] != "v1.2.3" || words[2] != "build" || len(words[3]) != 12 {
		t.Errorf("%q, %v", line, err)
	}
	build, err := Build()
	if hash, ok := strings.CutPrefix(build, "v1.2.3 "); err != nil || !ok || len(hash) != 64 || !strings.HasPrefix(hash, strings.Fields(line)[3]) {
		t.Errorf("the build is %q, %v", build, err)
	}
}

// Without version and checkout, as in this test, the line has the hash alone.
func TestVersionOfAnUnknownBuild(t *testing.T) {
	if line, err := Versions(); err != nil || identified() || !strings.Contains(line, " build ") {
		t.Errorf("%q, %v", line, err)
	}
}

// The Dockerfile sets the variable of this package.
func TestDockerfileSetsTheVersion(t *testing.T) {
	text, err := os.ReadFile("../../../../compose/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if want := " -X=" + reflect.TypeFor[value]().PkgPath() + ".release=${RACKFAB_VERSION}'"; !strings.Contains(string(text), want) {
		t.Errorf("compose/Dockerfile lacks %s", want)
	}
}

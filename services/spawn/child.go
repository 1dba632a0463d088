package spawn

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rackfab/rackfab/bus"
)

// parentVariable is set in the environment of a child whose standard input is a
// pipe from the launcher.
const parentVariable = "RACKFAB_PARENT"

// exitLimit is the time that a child has to end by itself after its launcher has
// ended or has stopped it.
const exitLimit = 3 * time.Second

// Secrets are the secrets that a launcher passes to a child. They are the first line of
// the child's standard input, because other users of the machine can see the arguments
// of a process, and a file could outlive the rack.
type Secrets struct {
	Access bus.Access // credentials for the bus, without TLS, which is configured by files
	Users  []bus.User // of the bus, for the bus process only
}

// secretsLine is the JSON form of Secrets.
type secretsLine struct {
	Seed, User, Password string     `json:",omitempty"`
	Users                []bus.User `json:",omitempty"`
}

// write writes the secrets for a child to w.
func (s Secrets) write(w io.Writer) error {
	login := s.Access.Login
	return json.NewEncoder(w).Encode(secretsLine{s.Access.Key.Seed(), login.User, login.Password, s.Users})
}

// readSecrets reads the line written by write. It returns no secrets if the input ends
// before a full line, because the launcher has ended.
func readSecrets(r *bufio.Reader) (s Secrets, err error) {
	text, err := r.ReadBytes('\n')
	if err != nil {
		return s, nil //nolint:nilerr // the context of Child reports the end of the input
	}
	var line secretsLine
	if json.Unmarshal(text, &line) != nil {
		return s, fmt.Errorf("%s is set, but the first line of standard input is not from rackfab", parentVariable)
	}
	s.Users, s.Access.Login = line.Users, bus.Login{User: line.User, Password: line.Password}
	if line.Seed != "" {
		s.Access.Key, err = bus.ParseKey(line.Seed)
	}
	return s, err
}

// Child returns the context of a process that a launcher may have started, and the
// secrets from the launcher. The context ends when ctx does, or when the pipe at
// standard input is closed: the launcher closes it to stop the process, and the
// kernel closes it when the launcher dies. Child exits the process if it has not
// ended three seconds later. In a process without a launcher, Child returns ctx and
// no secrets.
func Child(ctx context.Context) (context.Context, Secrets, error) {
	if os.Getenv(parentVariable) == "" {
		return ctx, Secrets{}, nil
	}
	input := bufio.NewReader(os.Stdin)
	secrets, err := readSecrets(input)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, input)
		time.AfterFunc(exitLimit, func() { os.Exit(1) }) //nolint:forbidigo // main itself may hang
		cancel()
	}()
	return ctx, secrets, err
}

package launch

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

// Inheritance holds the secrets that a launcher passes to a child. They are the first
// line of the child's standard input, because other users of the machine can see the
// arguments of a process, and a file could outlive the rack.
type Inheritance struct {
	Access bus.Access // credentials for the bus, without TLS, which is configured by files
	Users  []bus.User // of the bus, for the bus process only
}

// handover is the JSON form of an Inheritance.
type handover struct {
	Seed, User, Password string     `json:",omitempty"`
	Users                []bus.User `json:",omitempty"`
}

// write writes the inheritance for a child to w.
func (i Inheritance) write(w io.Writer) error {
	login := i.Access.Login
	return json.NewEncoder(w).Encode(handover{i.Access.Key.Seed(), login.User, login.Password, i.Users})
}

// inherit reads the line written by write. It returns an empty Inheritance if the
// input ends before a full line, because the launcher has ended.
func inherit(r *bufio.Reader) (i Inheritance, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return i, nil //nolint:nilerr // the context of Child reports the end of the input
	}
	var h handover
	if json.Unmarshal(line, &h) != nil {
		return i, fmt.Errorf("%s is set, and the first line of standard input is no launcher's", parentVariable)
	}
	i.Users, i.Access.Login = h.Users, bus.Login{User: h.User, Password: h.Password}
	if h.Seed != "" {
		i.Access.Key, err = bus.ParseKey(h.Seed)
	}
	return i, err
}

// Child returns the context of a process that a launcher may have started, and the
// Inheritance from the launcher. The context ends when ctx does, or when the pipe at
// standard input is closed: the launcher closes it to stop the process, and the
// kernel closes it when the launcher dies. Child exits the process if it has not
// ended three seconds later. In a process without a launcher, Child returns ctx and
// an empty Inheritance.
func Child(ctx context.Context) (context.Context, Inheritance, error) {
	if os.Getenv(parentVariable) == "" {
		return ctx, Inheritance{}, nil
	}
	input := bufio.NewReader(os.Stdin)
	given, err := inherit(input)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, input)
		time.AfterFunc(exitLimit, func() { os.Exit(1) }) //nolint:forbidigo // main itself may hang
		cancel()
	}()
	return ctx, given, err
}

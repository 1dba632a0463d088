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

// exitLimit is how long a child may take to end by itself when its launcher has
// gone or has told it to stop.
const exitLimit = 3 * time.Second

// Inheritance is what a child gets from its launcher and nobody else sees. It
// comes as the first line of the child's standard input, since whoever may look at
// the machine's processes sees their arguments, and a file could outlive the rack.
type Inheritance struct {
	Access bus.Access // to the bus; without TLS, which is a matter of files
	Users  []bus.User // of the bus, for the process that is the bus
}

// handover is an Inheritance on its way.
type handover struct {
	Seed, User, Password string     `json:",omitempty"`
	Users                []bus.User `json:",omitempty"`
}

// write hands the inheritance to a child.
func (i Inheritance) write(w io.Writer) error {
	login := i.Access.Login
	return json.NewEncoder(w).Encode(handover{i.Access.Key.Seed(), login.User, login.Password, i.Users})
}

// inherit reads what write has written. An input that ends before is of a
// launcher that is gone, and gives nothing.
func inherit(r *bufio.Reader) (i Inheritance, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return i, nil //nolint:nilerr // the end of the input is told by the context
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

// Child gives the context of a process that a launcher may have started, and what
// that has given it. The context ends when ctx does, and when the launcher closes the
// pipe at standard input, which is how the launcher says stop and what happens when
// it dies. A process that has not ended three seconds later is ended. In a process
// that no launcher started, Child gives ctx and nothing.
func Child(ctx context.Context) (context.Context, Inheritance, error) {
	if os.Getenv(parentVariable) == "" {
		return ctx, Inheritance{}, nil
	}
	input := bufio.NewReader(os.Stdin)
	given, err := inherit(input)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, input)
		time.AfterFunc(exitLimit, func() { os.Exit(1) }) //nolint:forbidigo // main may be what hangs
		cancel()
	}()
	return ctx, given, err
}

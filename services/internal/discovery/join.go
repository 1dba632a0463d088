package discovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/rackfab/rackfab/bus"
)

// Join announces the members of a process to a rack or pool until leave is called or ctx
// ends: then at once, because calls may delay the end of the process, and a successor does not
// wait. If a live member has one of the names, end is called with a *RefusedError. The error
// names the member.
func Join(ctx context.Context, end context.CancelCauseFunc, conn bus.Conn, rack string, members ...Hello) (leave func(), err error) {
	var withdrawals []func()
	leave = func() {
		for _, withdraw := range withdrawals {
			withdraw()
		}
	}
	for _, h := range members {
		withdraw, err := Announce(conn, rack, h, end)
		if err != nil {
			leave()
			return nil, fmt.Errorf("announce %s: %w", h.Name, err)
		}
		withdrawals = append(withdrawals, withdraw)
	}
	context.AfterFunc(ctx, leave)
	return leave, nil
}

// Refusal returns the *RefusedError that has ended ctx, nil if something else has.
func Refusal(ctx context.Context) error {
	var refused *RefusedError
	if errors.As(context.Cause(ctx), &refused) {
		return refused
	}
	return nil
}

package client

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rackfab/rackfab/services/health"
)

// CheckAddress returns an error unless the address of a server is HOST:PORT.
func CheckAddress(server, address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil || strings.Contains(address, "/") {
		return fmt.Errorf("invalid %s address %q: must be HOST:PORT", server, address)
	}
	return nil
}

// Reword rewords the error of a gRPC call for users: the faults of a change by field, or
// otherwise the status message.
func Reword(err error) error {
	s, ok := status.FromError(err)
	if !ok || err == nil {
		return err
	}
	var faults []error
	for _, detail := range s.Details() {
		bad, _ := detail.(*errdetails.BadRequest)
		for _, v := range bad.GetFieldViolations() {
			if field, ok := strings.CutPrefix(v.GetField(), "change."); ok {
				faults = append(faults, fmt.Errorf("%s: %s", field, v.GetDescription()))
			}
		}
	}
	if faults != nil {
		return errors.Join(faults...)
	}
	return errors.New(s.Message())
}

// unreached returns why a call reached no server, or "" if it reached one. An error
// that the server itself reports, such as a full disk, yields "".
func unreached(err error) string {
	text := status.Convert(err).Message()
	if status.Code(err) == codes.Unavailable && (strings.HasPrefix(text, "connection error: ") || strings.HasPrefix(text, "name resolver error: ")) {
		return health.Reason(text)
	}
	return ""
}

// ConnectionLost returns why the connection broke before the call was answered, or "" if
// it did not break.
func ConnectionLost(err error) string {
	if why, ok := strings.CutPrefix(status.Convert(err).Message(), "error reading from server: "); ok && status.Code(err) == codes.Unavailable {
		return why
	}
	return ""
}

// UnreachedError is the error of a call that reached no server.
type UnreachedError string

func (e UnreachedError) Error() string { return string(e) }

// rewordFor is Reword for calls of one server, whose errors say which server it was.
// start says how to get one, and lost what the loss of the connection means.
func rewordFor(err error, server, address, start, lost string) error {
	if why := unreached(err); why != "" {
		return UnreachedError(fmt.Sprintf("no %s at %s: %s (%s)", server, address, why, start))
	}
	if why := ConnectionLost(err); why != "" {
		return fmt.Errorf("connection to the %s at %s lost: %s; %s", server, address, why, lost)
	}
	return Reword(err)
}

package client

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
	"github.com/rackfab/rackfab/services/controller"
	"github.com/rackfab/rackfab/services/health"
)

// DefaultAddress is the default address of the controller of `rackfab up`, and of the
// commands that act on a rack.
const DefaultAddress = "127.0.0.1:7000"

// AddressVariable is the environment variable that overrides defaultAddress.
const AddressVariable = "RACKFAB_ADDRESS"

func AddressFlag(c *cobra.Command, address *string) {
	at := DefaultAddress
	if set := os.Getenv(AddressVariable); set != "" {
		at = set
	}
	c.Flags().StringVar(address, "address", at, "of the controller; "+AddressVariable+" sets the default")
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

// IsHostPort reports whether address is HOST:PORT.
func IsHostPort(address string) bool {
	_, _, err := net.SplitHostPort(address)
	return err == nil && !strings.Contains(address, "/")
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

// ConnectionLost returns why the connection broke before the call was answered, or "" if it did
// not break.
func ConnectionLost(err error) string {
	if why, ok := strings.CutPrefix(status.Convert(err).Message(), "error reading from server: "); ok && status.Code(err) == codes.Unavailable {
		return why
	}
	return ""
}

// WithRack calls do with the controller at address. It rewords errors for users.
func WithRack(address, tls string, do func(rackfabv1.FabricServiceClient) error) error {
	if !IsHostPort(address) {
		return fmt.Errorf("%q is no address of a controller: want HOST:PORT", address)
	}
	who, err := Identity(tls)
	if err != nil {
		return err
	}
	rack, err := controller.DialAs(address, who)
	if err != nil {
		return err
	}
	defer rack.Close()
	err = do(rack.API())
	if why := unreached(err); why != "" {
		return fmt.Errorf("no controller at %s: %s (`rackfab up` starts one; one with certificates wants --tls)", address, why)
	}
	if why := ConnectionLost(err); why != "" {
		return fmt.Errorf("the connection to the controller at %s was lost: %s; the rack may have ended with it", address, why)
	}
	return Reword(err)
}

// call is the body of a command that calls the controller.
type call func(c *cobra.Command, api rackfabv1.FabricServiceClient, args []string) error

// RackCommand returns a command that calls the controller.
func RackCommand(use, short string, args cobra.PositionalArgs, do call) *cobra.Command {
	var address, tls string
	c := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(c *cobra.Command, args []string) error {
		return WithRack(address, tls, func(api rackfabv1.FabricServiceClient) error { return do(c, api, args) })
	}}
	AddressFlag(c, &address)
	TLSFlag(c, &tls)
	return c
}

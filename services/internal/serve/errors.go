package serve

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rackfab/rackfab/fabric/scenariofile"
)

// nodeResource is the resource type of a node in an error's details.
const nodeResource = "rackfab.node"

// Invalid returns the error for a request with an invalid field: INVALID_ARGUMENT
// with google.rpc.BadRequest.
func Invalid(field, format string, args ...any) error {
	return InvalidFields([]Violation{Violated(field, format, args...)})
}

// Violation is an invalid field, with what is wrong.
type Violation = *errdetails.BadRequest_FieldViolation

// Violated returns the violation of a field.
func Violated(field, format string, args ...any) Violation {
	return &errdetails.BadRequest_FieldViolation{Field: field, Description: fmt.Sprintf(format, args...)}
}

// InvalidFields returns the error for a request with invalid fields: INVALID_ARGUMENT with
// google.rpc.BadRequest, and a line per field. It returns nil if there are none.
func InvalidFields(list []Violation) error {
	var lines []string
	for _, v := range list {
		lines = append(lines, v.GetField()+": "+v.GetDescription())
	}
	if lines == nil {
		return nil
	}
	return Detailed(status.New(codes.InvalidArgument, strings.Join(lines, "\n")), &errdetails.BadRequest{FieldViolations: list})
}

// InvalidScenario returns the error for a request whose field scenario
// scenariofile.Parse has refused: INVALID_ARGUMENT with one violation per fault.
func InvalidScenario(err error) error {
	return InvalidFaults(err, "scenario", func(key string) string {
		if key == "" {
			return "scenario"
		}
		return "scenario." + key
	})
}

// InvalidFaults returns the error for a request in which package topology has found
// faults: INVALID_ARGUMENT with one violation per fault. field returns the field for
// a fault's key. If err has no faults, it becomes a violation of the field whole.
func InvalidFaults(err error, whole string, field func(key string) string) error {
	var faults *scenariofile.Faults
	if !errors.As(err, &faults) {
		return Invalid(whole, "%v", err)
	}
	bad := &errdetails.BadRequest{}
	for _, f := range faults.List {
		bad.FieldViolations = append(bad.FieldViolations, Violated(field(f.Key), "%s", f.What))
	}
	return Detailed(status.New(codes.InvalidArgument, err.Error()), bad)
}

// Within returns an error with invalid fields of a message for the request that contains
// the message in field.
func Within(field string, err error) error {
	s := status.Convert(err)
	for _, d := range s.Details() {
		if b, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range b.GetFieldViolations() {
				v.Field = field + "." + v.GetField()
			}
			return Detailed(status.New(s.Code(), s.Message()), b)
		}
	}
	return err
}

// NodeFailed returns the error for a run that ended because node failed: ABORTED with
// google.rpc.ResourceInfo.
func NodeFailed(node string, cause error) error {
	why := status.Convert(cause).Message()
	return Detailed(status.Newf(codes.Aborted, "node %s: %s", node, why), &errdetails.ResourceInfo{
		ResourceType: nodeResource, ResourceName: node, Description: why,
	})
}

// FailedNode returns the node that err names, "" if it names no node.
func FailedNode(err error) string {
	for _, d := range status.Convert(err).Details() {
		if r, ok := d.(*errdetails.ResourceInfo); ok && r.GetResourceType() == nodeResource {
			return r.GetResourceName()
		}
	}
	return ""
}

// Violations returns the invalid fields that err names, each with its description.
func Violations(err error) map[string]string {
	found := map[string]string{}
	for _, d := range status.Convert(err).Details() {
		b, ok := d.(*errdetails.BadRequest)
		if !ok {
			continue
		}
		for _, v := range b.GetFieldViolations() {
			found[v.GetField()] = v.GetDescription()
		}
	}
	return found
}

// Detailed returns the error of s with a detail, or without it if the detail cannot
// be attached.
func Detailed(s *status.Status, detail protoadapt.MessageV1) error {
	with, err := s.WithDetails(detail)
	if err != nil {
		return s.Err()
	}
	return with.Err()
}

// Busy returns the error of a call that will succeed later, on which the client should wait for a pause. An error
// of code ResourceExhausted that Busy has not made, such as that of a message which is too large, is final.
func Busy(pause time.Duration, format string, args ...any) error {
	return Detailed(status.Newf(codes.ResourceExhausted, format, args...), &errdetails.RetryInfo{RetryDelay: durationpb.New(pause)})
}

// RetryAfter returns the pause of an error that Busy has made. ok is false for any other error.
func RetryAfter(err error) (pause time.Duration, ok bool) {
	for _, d := range status.Convert(err).Details() {
		if r, is := d.(*errdetails.RetryInfo); is {
			return r.GetRetryDelay().AsDuration(), true
		}
	}
	return 0, false
}

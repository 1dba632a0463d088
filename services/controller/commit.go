package controller

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// mostCalls is the number of calls that the loop executes without a look at the nodes.
const mostCalls = 256

// serve executes a call, and those that wait behind it if it has changed the run, so that one
// write of the journal serves all of their changes.
func (r *run) serve(call func()) {
	defer r.commit()
	for range mostCalls {
		if call(); len(r.unsaved.done) == 0 {
			return
		}
		select {
		case call = <-r.calls:
		default:
			return
		}
	}
}

// commit writes the unsaved changes to the journal. If that fails, the run is as it was
// before them.
func (r *run) commit() {
	if len(r.unsaved.done) == 0 {
		return
	}
	err := r.save()
	if err != nil {
		err = status.Errorf(codes.Unavailable, "the change is not applied, because the journal cannot be written: %v", err)
		r.undo()
	}
	for _, done := range r.unsaved.done {
		done(err)
	}
	r.unsaved = unsaved{}
}

// undo removes the unsaved changes from the run.
func (r *run) undo() {
	left := len(r.unsent) - len(r.unsaved.done)
	for _, timed := range r.unsent[left:] {
		r.sentBytes -= proto.Size(timed)
	}
	r.unsent = r.unsent[:left]
	r.scenario, r.extender = r.unsaved.before, nil
	r.journal.text.Undo(len(r.scenario.Changes))
}

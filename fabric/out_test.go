package fabric_test

import (
	"testing"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// keeper is a machine that keeps the frames with a payload, and forwards each at the tick.
type keeper struct{ kept []*frame.Frame }

func (k *keeper) Arrive(_ unit.Time, _ fabric.Port, f *frame.Frame, out *fabric.Out) {
	if f.Payload > 0 {
		k.kept = append(k.kept, out.Keep(f))
	}
}

func (k *keeper) Control(unit.Time, *fabric.Change, *fabric.Out) {}

func (k *keeper) Tick(_ unit.Time, out *fabric.Out) {
	for _, f := range k.kept {
		out.Forward(1, f)
	}
}

func (k *keeper) Next() (unit.Time, bool) { return 0, false }

// A forwarded frame is never copied, and returns to the pool if nobody takes it over.
func TestFrameFromThePoolIsForwardedWithoutACopy(t *testing.T) {
	var pool frame.Pool
	var k keeper
	out := fabric.Out{Pool: &pool}
	f := pool.Get()
	f.Payload = 1
	out.Arrive(&k, 0, 0, f)
	k.Tick(1, &out)
	if out.Sends[0].Frame != f {
		t.Fatal("the frame was copied")
	}
	if g := pool.Get(); g == f {
		t.Fatal("a frame that the machine keeps is in the pool")
	}
	out.Reset()
	if pool.Get() != f {
		t.Error("the frame did not return to the pool")
	}
}

func TestFrameThatAMachineIgnoresReturnsToThePool(t *testing.T) {
	var pool frame.Pool
	out := fabric.Out{Pool: &pool}
	f := pool.Get()
	f.Payload = 0
	out.Arrive(new(keeper), 0, 0, f)
	if pool.Get() != f {
		t.Error("the frame did not return to the pool")
	}
}

func TestFrameOfTheCallerIsCopied(t *testing.T) {
	var k keeper
	out := fabric.Out{Pool: new(frame.Pool)}
	f := frame.Frame{Payload: 1, Trace: 7}
	k.Arrive(0, 0, &f, &out)
	f.Trace = 8
	if k.Tick(1, &out); out.Sends[0].Frame.Trace != 7 {
		t.Error("the machine keeps the caller's frame")
	}
}

func TestFrameTakenOverDoesNotReturnToThePool(t *testing.T) {
	var pool frame.Pool
	out := fabric.Out{Pool: &pool}
	f := out.Send(0)
	out.Sends[0].Frame = nil
	out.Reset()
	if pool.Get() == f {
		t.Error("the pool has a frame that somebody uses")
	}
}

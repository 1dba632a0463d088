package inspect

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rackfab/rackfab/cmd/rackfab/internal/cli"
	"github.com/rackfab/rackfab/cores"
	"github.com/rackfab/rackfab/fabric/lab"
	"github.com/rackfab/rackfab/fabric/tap"
	"github.com/rackfab/rackfab/fabric/unit"
)

// captureStep is how much fabric time a run in memory buffers between writes.
const captureStep = 100 * unit.Microsecond

// captureRun captures from a run in memory.
func captureRun(c *cobra.Command, name string, f *captureFlags) error {
	if err := cli.Unused(c, inMemory, "address", "tls"); err != nil {
		return err
	}
	s, err := f.overrides.Load(c, name)
	if err != nil {
		return err
	}
	points, err := tap.Points(s, f.at)
	if err != nil {
		return err
	}
	f.begin(0)
	if f.window.From >= s.Duration {
		return fmt.Errorf("--from %s: must be before the end of the run at %s", f.window.From, s.Duration)
	}
	l, err := lab.New(s)
	if err != nil {
		return err
	}
	var recorders []*tap.Recorder
	for i, ports := range tap.ByNode(points) {
		r := tap.NewRecorder(i, l.Machine(i), ports, f.window, 0)
		l.Look(i, tap.Of(r))
		recorders = append(recorders, r)
	}
	f.file.From = f.window.From
	out, err := newCaptureFile(c, f, s, points)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // for cores.Runner
	defer runtime.UnlockOSThread()
	runner := cores.New(l, cores.NewPool(runtime.GOMAXPROCS(0)), 0)
	defer runner.Close()
	end := min(f.window.To, s.Duration)
	for l.Now() < end && !out.full && c.Context().Err() == nil {
		runner.Run(min(end, l.Now()+captureStep))
		var packets []tap.Packet
		for _, r := range recorders {
			packets = append(packets, r.Take()...)
		}
		tap.Sort(packets, func(p tap.Packet) (unit.Time, int) { return p.At, p.Node })
		if err := out.take(packets); err != nil {
			return out.discard(err)
		}
	}
	return out.end(c, l.Now(), "")
}

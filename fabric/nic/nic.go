package nic

import (
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/llr"
	"github.com/rackfab/rackfab/fabric/nic/program"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/nic/rx"
	"github.com/rackfab/rackfab/fabric/unit"
)

// NIC is one network interface. It implements fabric.Machine with one port, 0. It
// transmits frames only in Tick.
type NIC struct {
	cfg          Config
	controlClass fabric.Priority

	qps    qp.Table
	steps  *program.Run // nil without a program
	intake rx.Intake
	pauses rx.Pauses
	cable  fabric.Cable
	retry  *llr.End // nil without link-layer retry
	frozen bool
	freeAt unit.Time // when the frame in transmission ends
	now    unit.Time // of the latest call
	// sampleAt is the end of the current sampling interval, Never if nothing was sent
	// in it and no tokens change.
	sampleAt  unit.Time
	sampledTx uint64 // bytes sent up to the last sample
	stats     Stats
}

var _ fabric.Machine = (*NIC)(nil)

// New returns a NIC. If cfg is not valid, the error lists all faults.
func New(cfg Config) (*NIC, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	n := &NIC{
		cfg:          cfg,
		controlClass: cfg.DSCP[cfg.ControlDSCP],
		pauses:       rx.NewPauses(cfg.Rate),
		sampleAt:     unit.Never,
		intake:       rx.NewIntake(cfg.Intake, rx.Port{Source: frame.HostMAC(cfg.Host), Rate: cfg.Rate}),
		cable:        fabric.Cable{Rate: cfg.Rate, Delay: cfg.Delay, Overhead: cfg.Overhead, Flaws: cfg.Flaws},
	}
	if cfg.Retry != nil {
		n.retry = llr.New(cfg.Retry, llr.Link{Rate: cfg.Rate, Delay: cfg.Delay, Overhead: cfg.Overhead, MTU: cfg.MTU}, 0, frame.HostMAC(cfg.Host))
	}
	n.qps.Init(&n.cfg.Settings, &n.stats.EventCounters, n.cfg.controlQueue(), cfg.MirrorPorts)
	n.qps.Engine, n.qps.Samples = cfg.newEngine(0, &n.qps.Device), cfg.Sampling.Every > 0
	err := n.qps.AddFlows(cfg.Flows)
	if err == nil {
		err = n.qps.Connect(cfg.Connections)
	}
	for i := 0; err == nil && i < len(cfg.Posts); i++ {
		err = n.qps.Engine.Post(cfg.Posts[i])
	}
	if err == nil && cfg.Program != nil {
		n.steps = program.New(cfg.Program, n.postStep)
	}
	if err != nil {
		return nil, fmt.Errorf("nic %s: %w", cfg.Name, err)
	}
	return n, nil
}

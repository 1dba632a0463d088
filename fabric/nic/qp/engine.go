package qp

import (
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/shaper"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// Engine executes the commands of a NIC, and answers the requests of its peers.
//
//	host -> command queues -> flow queues -> units (MCU) -> shaper -> link
//	                            by hash       cut, count     passes over
//
// A sent request stays in the connection's source table until it is answered. Requests
// without an answer enter the retry state. Responses have their own units and share the
// shaper.
type Engine struct {
	*Device
	EngineConfig
	index      Index // by flow: index into ends
	ends       []end
	initiators []*initiator
	queues     work.Queues
	units      []end // by unit: the end that it serves, nil for none
	requests   pool  // units of initiators
	responses  pool  // units of targets
	memory     memory
	sampled    shaperSample
	stats      EngineStats
}

// end is the sending side of one end of a connection: an initiator, or the responses of a
// responder.
type end interface {
	// core returns the state common to both ends.
	core() *connection
	// offer offers the next packet to the arbiter. A unit serves the end. offer reports whether
	// the end is idle.
	offer() (idle bool)
	// head returns the trace ID of the command whose request is next, 0 for a target.
	head() uint64
	// send writes the next packet into f. It returns the arrival of the packet that it
	// answers, Never if it answers none.
	send(now unit.Time, f *frame.Frame, out *fabric.Out) (in unit.Time)
	// release frees what an idle end holds.
	release()
}

// connection is the state common to both ends of a connection.
type connection struct {
	ConnectionConfig
	engine  *Engine
	place   int     // in Engine.ends
	class   int     // index of its ShapingClass
	flow    int32   // of an initiator, in Engine.queues and Engine.initiators
	sender  *Sender // of requests or responses
	cutter  work.Cutter
	pool    *pool // whose units serve it
	service service
	unit    int // that serves it
}

func (c *connection) core() *connection { return c }

// Offer renews the offer of the end.
func (c *connection) Offer() { c.engine.offer(c.place) }

// NewEngine returns an engine without connections. tree configures its shaper.
func NewEngine(d *Device, cfg EngineConfig, tree shaper.Config) *Engine {
	e := &Engine{
		Device:       d,
		EngineConfig: cfg,
		queues:       work.NewQueues(cfg.sizes()),
		units:        make([]end, cfg.Units+cfg.ResponseUnits),
		requests:     pool{first: 0, end: cfg.Units},
		responses:    pool{first: cfg.Units, end: cfg.Units + cfg.ResponseUnits},
	}
	d.Arbiter.Serve(tree)
	e.sampled.out, e.sampled.in = e.Arbiter.Tokens(0)
	return e
}

// Ready reports whether the engine has units, so that it can serve connections.
func (e *Engine) Ready() bool { return len(e.units) > 0 }

// ClassIndex returns the index of a shaping class, or -1 if there is none.
func (e *EngineConfig) ClassIndex(class fabric.Priority) int {
	return slices.IndexFunc(e.Classes, func(c ShapingClass) bool { return c.Class == class })
}

// shaperSample is the state of the shaper at the latest sample.
type shaperSample struct {
	out, in unit.Bytes // tokens
	stall   shaper.Stall
}

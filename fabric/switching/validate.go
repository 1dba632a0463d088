package switching

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/switching/balance"
)

// Validate reports all errors of the configuration at once, nil if it is valid.
func (c *Config) Validate() error {
	var errs []error
	if len(c.Ports) == 0 || len(c.Ports) > math.MaxInt16 {
		errs = append(errs, fmt.Errorf("%d ports, want 1 to %d", len(c.Ports), math.MaxInt16))
	}
	for i := range c.Ports {
		errs = append(errs, c.Ports[i].validate(i))
	}
	for i := range c.Classes {
		errs = append(errs, c.Classes[i].validate(i), c.validateQueue(i))
		if c.Weights[i] < 0 {
			errs = append(errs, fmt.Errorf("class %d: weight %d, want 0 or more", i, c.Weights[i]))
		}
	}
	for i, class := range c.DSCP {
		if class >= fabric.Priorities {
			errs = append(errs, fmt.Errorf("DSCP %d: class %d, want 0 to %d", i, class, fabric.Priorities-1))
		}
	}
	if c.Arbitration != ArbitrateFIFO && c.Arbitration != ArbitrateIngress {
		errs = append(errs, fmt.Errorf("arbitration %q, want %s or %s", c.Arbitration, ArbitrateFIFO, ArbitrateIngress))
	}
	if c.CNMClass >= fabric.Priorities {
		errs = append(errs, fmt.Errorf("CNM class %d, want 0 to %d", c.CNMClass, fabric.Priorities-1))
	}
	if c.Detection < 0 {
		errs = append(errs, fmt.Errorf("detection %v, want 0 or more", c.Detection))
	}
	errs = append(errs, c.validateRoutes(), c.Balance.Validate(), c.validateRTTX())
	if c.Buffer <= 0 || c.set() > c.Buffer {
		errs = append(errs, fmt.Errorf("buffer of %v, want at least the reserves and headrooms of %d ports, %v", c.Buffer, len(c.Ports), c.set()))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("switch %s: %w", c.Name, err)
	}
	return nil
}

func (c *Config) validateRoutes() error {
	for host, ports := range c.Routes {
		for _, p := range ports {
			if p < 0 || int(p) >= len(c.Ports) {
				return fmt.Errorf("route to host %d: port %d, want 0 to %d", host, p, len(c.Ports)-1)
			}
		}
	}
	return nil
}

func (p *PortConfig) validate(i int) error {
	switch {
	case p.Rate <= 0:
		return fmt.Errorf("port %d: rate %v, want more than 0", i, p.Rate)
	case p.Delay < 0:
		return fmt.Errorf("port %d: delay %v, want 0 or more", i, p.Delay)
	case p.Overhead <= -frame.MinLen:
		return fmt.Errorf("port %d: link overhead %v, want more than -%d bytes", i, p.Overhead, frame.MinLen)
	case p.MTU < frame.MinLen:
		return fmt.Errorf("port %d: MTU %v, want at least %d bytes", i, p.MTU, frame.MinLen)
	}
	return nil
}

func (c *ClassConfig) validate(i int) error {
	_, known := laws[c.Marking]
	switch {
	case c.Reserve < 0 || c.XOFF < 0 || c.XON < 0 || c.Headroom < 0:
		return fmt.Errorf("class %d: reserve %v, XOFF %v, XON %v and headroom %v, want 0 or more", i, c.Reserve, c.XOFF, c.XON, c.Headroom)
	case c.AlphaShift < -16 || c.AlphaShift > 62:
		return fmt.Errorf("class %d: alpha shift %d, want -16 to 62", i, c.AlphaShift)
	case c.Lossless && c.Quanta == 0:
		return fmt.Errorf("class %d: lossless with pause quanta 0, want at least 1", i)
	case !slices.Contains(rewrites, c.Rewrite):
		return fmt.Errorf("class %d: unknown rewriting %q, want one of %q", i, c.Rewrite, rewrites)
	case int(c.Routing) >= len(balance.Names):
		return fmt.Errorf("class %d: unknown routing %v, want one of %q", i, c.Routing, balance.Names)
	case !known:
		return fmt.Errorf("class %d: unknown marking law %q, want %q, %q, %q, %q or %q",
			i, c.Marking, cc.MarkNone, cc.MarkRED, cc.MarkNPECN, cc.MarkStep, cc.MarkQCN)
	}
	return c.validateLaw(i)
}

func (c *ClassConfig) validateLaw(i int) error {
	r, q := &c.RED, &c.QCN
	switch law := laws[c.Marking]; {
	case law == lawRED && !(0 <= r.Kmin && r.Kmin <= r.Kmax && 0 <= r.Pmax && r.Pmax <= 1):
		return fmt.Errorf("class %d: RED %+v, want 0 <= Kmin <= Kmax and 0 <= Pmax <= 1", i, *r)
	case law == lawStep && (c.Step.K < 0 || c.Step.Per < 0):
		return fmt.Errorf("class %d: step %+v, want 0 or more", i, c.Step)
	case law == lawQCN && !(q.SetPoint > 0 && q.Weight >= 0 && q.SampleBase > 0 && 0 <= q.Jitter && q.Jitter < 1):
		return fmt.Errorf("class %d: QCN %+v, want SetPoint and SampleBase more than 0, Weight 0 or more, 0 <= Jitter < 1", i, *q)
	}
	return nil
}

package nic

import (
	"errors"
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/nic/work"
)

// Validate returns all faults of the configuration, or nil.
func (c *Config) Validate() error {
	errs := []error{
		c.Settings.Validate(),
		want(c.Delay >= 0, "link delay %v, want 0 or more", c.Delay),
		want(c.ControlRate >= 0, "control rate %d, want 0 or more", c.ControlRate),
		want(c.ControlQueue > 0, "control queue of %d packets, want at least 1", c.ControlQueue),
		c.Intake.Validate(),
		c.validateFlows(),
		c.validateEngine(),
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("nic %s: %w", c.Name, err)
	}
	return nil
}

// want returns an error unless ok.
func want(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func (c *Config) validateFlows() error {
	var errs []error
	seen := make(map[fabric.FlowID]bool, len(c.Flows))
	for _, k := range c.Connections {
		errs = append(errs, want(!seen[k.ID], "duplicate flow ID %d", k.ID))
		seen[k.ID] = true
	}
	for _, f := range c.Flows {
		if f.From == c.Host {
			errs = append(errs, c.CC.Validate(c.Scheme))
		}
		if err := validateFlow(&f, c.Host); err != nil {
			errs = append(errs, fmt.Errorf("flow %d: %w", f.ID, err))
		}
		if seen[f.ID] {
			errs = append(errs, fmt.Errorf("duplicate flow ID %d", f.ID))
		}
		seen[f.ID] = true
	}
	return errors.Join(errs...)
}

func validateFlow(f *FlowConfig, host int) error {
	inside := func(h int) bool { return 0 <= h && h < frame.MaxHosts }
	return errors.Join(
		want(f.ID < frame.MaxFlows, "ID %d, want less than %d", f.ID, frame.MaxFlows),
		want(inside(f.From) && inside(f.To), "from host %d to host %d, want hosts 0 to %d", f.From, f.To, frame.MaxHosts-1),
		want(f.From != f.To, "source and destination are both host %d", f.From),
		want(f.From == host || f.To == host, "neither source nor destination is host %d", host),
		want(f.Size > 0 || f.Size == Endless || f.Size == Posted, "size %d, want at least 1 byte", f.Size),
		want(f.DSCP < 64, "DSCP %d, want 0 to 63", f.DSCP),
		want(f.Start >= 0, "start %v, want 0 or more", f.Start),
	)
}

// validateEngine returns all faults of the connections and the engine, or nil.
func (c *Config) validateEngine() error {
	if len(c.Connections) == 0 {
		return want(len(c.Posts) == 0, "%d series of commands without a connection", len(c.Posts))
	}
	e := &c.Engine
	errs := []error{
		want(e.CommandSlots > 0 && e.FlowSlots > 0, "command queue of %d and flow queue of %d commands, want at least 1", e.CommandSlots, e.FlowSlots),
		want(0 < e.FlowQueues && e.FlowQueues <= qp.MaxUnacked, "%d flow queues, want 1 to %d", e.FlowQueues, qp.MaxUnacked),
		want(e.Units > 0 && e.ResponseUnits > 0, "%d request units and %d response units, want at least 1", e.Units, e.ResponseUnits),
		want(0 < e.GetLimit && e.GetLimit <= qp.MaxOutstanding && 0 < e.PutLimit && e.PutLimit <= qp.MaxOutstanding,
			"GET limit %d and PUT limit %d in packets, want 1 to %d", e.GetLimit, e.PutLimit, qp.MaxOutstanding),
		want(0 <= e.SubRequest && e.SubRequest <= qp.MaxSubRequest, "sub-request size %v, want 0 to %v", e.SubRequest, qp.MaxSubRequest),
		want(e.Length.Header >= 0 && e.Retries >= 0 && e.Counters >= 0, "RspPktLen header %v, retries %d and counters %d, want 0 or more", e.Length.Header, e.Retries, e.Counters),
		want(0 < e.Length.Scale && e.Length.Scale <= work.MaxScale && 0 <= e.Length.Shift && e.Length.Shift <= work.MaxShift,
			"RspPktLen scale %d and shift %d, want 1 to %d and 0 to %d", e.Length.Scale, e.Length.Shift, work.MaxScale, work.MaxShift),
	}
	for _, k := range e.Classes {
		errs = append(errs, want(k.Class < fabric.Priorities && k.DSCP < 64 && c.DSCP[k.DSCP] == k.Class,
			"class %d: DSCP %d does not map to this class", k.Class, k.DSCP))
	}
	for _, k := range c.Connections {
		errs = append(errs, c.validateConnection(&k))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s := c.shaper()
	return s.Validate(c.longestPacket(), c.longestResponse())
}

func (c *Config) validateConnection(k *ConnectionConfig) error {
	f := FlowConfig{ID: k.ID, From: k.From, To: k.To, Size: 1}
	if err := validateFlow(&f, c.Host); err != nil {
		return fmt.Errorf("connection %d: %w", k.ID, err)
	}
	return errors.Join(
		want(c.Engine.ClassIndex(k.Class) >= 0, "connection %d: class %d is not a shaping class", k.ID, k.Class),
		want(0 < k.Payload && k.Payload <= c.Payload && k.Payload%4 == 0,
			"connection %d: payload %v, want a multiple of 4 bytes up to %v", k.ID, k.Payload, c.Payload))
}

package nic

import (
	"errors"
	"fmt"

	"github.com/rackfab/rackfab/fabric"
	"github.com/rackfab/rackfab/fabric/cc"
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/nic/qp"
	"github.com/rackfab/rackfab/fabric/nic/work"
	"github.com/rackfab/rackfab/fabric/unit"
)

// maxRate keeps the arithmetic of the pacer in 64 bits.
const maxRate = 100_000 * unit.GigabitPerSec

// maxClock bounds the offset of a clock: timestamps wrap around after that time.
const maxClock = unit.Time(1<<32-1) * unit.Nanosecond

// Validate returns all faults of the configuration, or nil.
func (c *Config) Validate() error {
	errs := []error{
		want(0 <= c.Host && c.Host < frame.MaxHosts, "host %d, want 0 to %d", c.Host, frame.MaxHosts-1),
		want(0 < c.Rate && c.Rate <= maxRate, "rate %v, want more than 0 and at most %v", c.Rate, maxRate),
		want(c.Delay >= 0, "link delay %v, want 0 or more", c.Delay),
		want(-frame.MinLen < c.Overhead && c.Overhead <= unit.Kilobyte, "link overhead %v, want more than -%d bytes and at most 1 KB", c.Overhead, frame.MinLen),
		want(0 < c.Payload && c.Payload <= frame.MaxPayload && c.Payload%4 == 0,
			"payload %v, want a multiple of 4 bytes up to %d", c.Payload, frame.MaxPayload),
		want(c.AckEvery > 0, "one ACK covers %d packets, want at least 1", c.AckEvery),
		want(c.Timeout >= 0, "retransmission timeout %v, want 0 or more", c.Timeout),
		want(c.ControlRate >= 0, "control rate %d, want 0 or more", c.ControlRate),
		want(c.ControlQueue > 0, "control queue of %d packets, want at least 1", c.ControlQueue),
		want(c.ControlDSCP < 64, "control DSCP %d, want 0 to 63", c.ControlDSCP),
		c.Intake.Validate(),
		c.validateRTT(),
		want(0 <= c.Clock && c.Clock <= maxClock, "clock offset %v, want 0 to %v", c.Clock, maxClock),
		c.validateNotification(),
		c.validateFlows(),
		want(0 <= c.Burst && c.Burst <= unit.Megabyte, "burst of %v, want 0 to 1 MB", c.Burst),
		c.validateEngine(),
	}
	for i, class := range c.DSCP {
		errs = append(errs, want(class < fabric.Priorities, "DSCP %d: class %d, want 0 to %d", i, class, fabric.Priorities-1))
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

func (c *Config) validateRTT() error {
	if c.Probe != 0 && c.Probe < cc.ShortestProbe {
		return fmt.Errorf("interval of RTT probes %v, want 0 or at least %v", c.Probe, cc.ShortestProbe)
	}
	switch c.RTT {
	case cc.RTTNone, cc.RTTEcho, cc.RTTReceiver, cc.RTTOffset:
		return nil
	}
	return fmt.Errorf("RTT measurement %q, want one of %q, %q, %q or %q", c.RTT, cc.RTTNone, cc.RTTEcho, cc.RTTReceiver, cc.RTTOffset)
}

func (c *Config) validateNotification() error {
	switch c.Notification {
	case "", cc.NotifyNone:
		return nil
	case cc.NotifyDCQCN:
		return c.CC.DCQCN.Validate()
	case cc.NotifyCETH:
		return errors.Join(c.CC.CETH.Validate(), c.CC.DCQCN.Validate())
	case cc.NotifyPCN:
		return c.CC.PCN.Validate()
	case cc.NotifyCredit:
		return errors.Join(c.CC.Credit.Validate(),
			want(c.Payload <= frame.MaxUETPayload, "payload %v, want at most %d bytes under UET", c.Payload, frame.MaxUETPayload))
	}
	return fmt.Errorf("unknown notification %q, want %q, %q, %q, %q or %q",
		c.Notification, cc.NotifyNone, cc.NotifyDCQCN, cc.NotifyCETH, cc.NotifyPCN, cc.NotifyCredit)
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
		want(f.Size > 0 || f.Size == Endless, "size %d, want at least 1 byte", f.Size),
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

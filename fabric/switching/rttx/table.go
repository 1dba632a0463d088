package rttx

import "github.com/rackfab/rackfab/fabric/unit"

// table is the flow table: a bounded number of flows by FlowKey, in the order in
// which their forward packets were last seen.
//
//	oldest <-> ... <-> newest      flows, linked by index; flows[0] joins the ends
//
// Invariant: index holds exactly the keys of the flows in the list, at most limit
// of them.
type table struct {
	limit int
	index map[FlowKey]int32
	flows []flow // flows[0] joins the ends of the ring
}

func newTable(limit int) table {
	return table{limit: limit, index: make(map[FlowKey]int32, limit), flows: make([]flow, 1, limit+1)}
}

// find returns the flow with the key, nil if there is none.
func (t *table) find(key FlowKey) *flow {
	if i, ok := t.index[key]; ok {
		return &t.flows[i]
	}
	return nil
}

// oldest returns the flow that has been silent longest. The table must not be empty.
func (t *table) oldest() *flow { return &t.flows[t.flows[0].next] }

// full reports whether a new flow must replace an old one.
func (t *table) full() bool { return len(t.index) == t.limit }

// insert adds a flow under a new key. It replaces the oldest flow if the table is
// full.
func (t *table) insert(key FlowKey, fields Fields) *flow {
	var i int32
	if t.full() {
		i = t.flows[0].next
		delete(t.index, t.flows[i].key)
		t.unlink(i)
	} else {
		i = int32(len(t.flows))
		t.flows = append(t.flows, flow{})
	}
	t.index[key] = i
	t.flows[i] = flow{key: key, fields: fields, at: i}
	t.append(i)
	return &t.flows[i]
}

// touch makes the flow the newest.
func (t *table) touch(f *flow) {
	if f.next == 0 {
		return // it is the newest already
	}
	t.unlink(f.at)
	t.append(f.at)
}

func (t *table) unlink(i int32) {
	f := &t.flows[i]
	t.flows[f.prev].next, t.flows[f.next].prev = f.next, f.prev
}

func (t *table) append(i int32) {
	last := t.flows[0].prev
	t.flows[i].prev, t.flows[i].next = last, 0
	t.flows[last].next, t.flows[0].prev = i, i
}

// register returns the flow of a forward packet and adds it if it is new ([0048],
// [0049]). It returns nil if the table is full, or if another flow has the key
// (collided).
func (c *Converter) register(now unit.Time, fields Fields) (f *flow, collided bool) {
	key := c.params.flowKey(fields)
	f = c.flows.find(key)
	switch {
	case f != nil && !c.params.Key.same(f.fields, fields):
		c.stats.Collided++
		return nil, true
	case f != nil:
	case !c.flows.full():
		f = c.flows.insert(key, fields)
		c.stats.Registered++
	case c.flows.oldest().silent(now, c.params.Age):
		f = c.flows.insert(key, fields)
		c.stats.Registered++
		c.stats.Replaced++
	default:
		c.stats.Overflowed++
		return nil, false
	}
	f.age(now, c.params.Age)
	c.sight(now, f)
	return f, false
}

// sight records that a forward packet of the flow arrived or left.
func (c *Converter) sight(now unit.Time, f *flow) {
	c.flows.touch(f)
	f.seen = now
}

// find returns the flow with these forward fields, nil if it is not in the table.
func (c *Converter) find(forward Fields) *flow {
	f := c.flows.find(c.params.flowKey(forward))
	if f == nil || !c.params.Key.same(f.fields, forward) {
		return nil
	}
	return f
}

// returning returns the flow of a return packet, nil if it is not in the table.
func (c *Converter) returning(now unit.Time, fields Fields) *flow {
	forward, ok := c.forward(fields)
	if !ok {
		return nil
	}
	f := c.find(forward)
	if f != nil {
		f.age(now, c.params.Age)
	}
	return f
}

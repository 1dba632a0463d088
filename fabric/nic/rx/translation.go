package rx

import (
	"github.com/rackfab/rackfab/fabric/frame"
	"github.com/rackfab/rackfab/fabric/unit"
)

// TranslationConfig is the address translation unit (ATU) of a NIC, and its cache. With 0
// entries, addresses need no translation.
type TranslationConfig struct {
	Entries   int        // translations that the cache holds
	Page      unit.Bytes // memory that one translation covers
	Hit, Miss unit.Time  // duration of a lookup
}

// TranslationStats counts the lookups of an address translation unit.
type TranslationStats struct {
	On           bool // the unit exists
	Hits, Misses uint64
}

// translator translates the addresses of received data, one page at a time and in order of
// arrival. A frame is absorbed when all its pages are translated; meanwhile the host
// absorbs earlier frames. So the rate of lookups limits absorption, and their latency
// delays a frame that finds the buffer empty.
//
// A page belongs to a queue pair, as a memory region does. WRITE names its address in its
// first packet. Data without an address of its own, as of SEND, READ responses and UET,
// continues where the previous data of the queue pair ended.
type translator struct {
	TranslationConfig
	cache lru
	next  map[uint32]uint64 // by queue pair: address after its latest data
	free  unit.Time         // end of the latest lookup
	stats TranslationStats
}

func newTranslator(c TranslationConfig) translator {
	t := translator{TranslationConfig: c}
	if c.Entries > 0 {
		t.stats.On, t.cache, t.next = true, newLRU(c.Entries), map[uint32]uint64{}
	}
	return t
}

// translate looks up the pages of a frame that arrives at now. It returns the instant at
// which its last page is translated.
func (t *translator) translate(now unit.Time, f *frame.Frame) unit.Time {
	if t.Entries == 0 || f.Payload == 0 {
		return now
	}
	qp := queuePair(f)
	address := t.next[qp]
	if f.Class() == frame.ClassRoCE && f.Opcode().HasRETH() {
		address = f.DMAAddress()
	}
	end := address + uint64(f.Payload)
	t.next[qp] = end
	t.free = max(t.free, now)
	for number := address / uint64(t.Page); number <= (end-1)/uint64(t.Page); number++ {
		if t.cache.use(page{qp, number}) {
			t.stats.Hits++
			t.free += t.Hit
		} else {
			t.stats.Misses++
			t.free += t.Miss
		}
	}
	return t.free
}

// uetQueuePairs separates the flows of UET from the queue pairs of RoCEv2, of 24 bits.
const uetQueuePairs = 1 << 31

// queuePair returns a number for the queue pair that receives a frame.
func queuePair(f *frame.Frame) uint32 {
	if f.Class() == frame.ClassUET {
		flow, _ := f.UETFlow()
		return uetQueuePairs | flow
	}
	return f.DestQP()
}

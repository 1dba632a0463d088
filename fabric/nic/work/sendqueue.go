package work

import (
	"iter"
	"sort"

	"github.com/rackfab/rackfab/fabric/ring"
	"github.com/rackfab/rackfab/fabric/unit"
)

// SendQueue holds the work requests in progress of a queue pair, in the order in which they
// were posted, and cuts them into parts. The part at the cursor is the next one to send.
//
//	front ............ cursor ............ back
//	  sent, not complete  |   not yet sent
//
// Requests and packets are numbered from 0 in the order of the queue. A packet here is a
// packet sequence number: a part that requests data takes one per response packet.
type SendQueue struct {
	cutter   Cutter
	requests ring.Ring[Request]
	front    int64 // number of the oldest request
	cursor   int64 // number of the request at the cursor; that of the next one to come at the end
	part     Part  // at the cursor
	packet   int64 // the part's first packet
	end      int64 // number of packets of all requests so far
}

// Request is a work request in progress.
type Request struct {
	Command
	First, End int64 // its packets are First to End-1
	Open       int   // parts sent and not answered, if they are answered one by one
}

// NewSendQueue returns an empty queue that is full at limit requests; 0 means no limit.
func NewSendQueue(cutter Cutter, limit int) SendQueue {
	return SendQueue{cutter: cutter, requests: ring.WithLimit[Request](limit)}
}

// Full reports whether the queue has no room for a request.
func (q *SendQueue) Full() bool { return q.requests.Full() }

// Len returns the number of requests in progress.
func (q *SendQueue) Len() int { return q.requests.Len() }

// Front returns the oldest request. The queue must not be empty.
func (q *SendQueue) Front() *Request { return q.requests.Front() }

// At returns a request in progress by its number.
func (q *SendQueue) At(number int64) *Request { return q.requests.At(int(number - q.front)) }

// Post appends a request and returns it. The queue must not be full.
func (q *SendQueue) Post(c Command) *Request {
	r := q.requests.Next()
	*r = Request{Command: c, First: q.end, End: q.end + q.cutter.packets(&c, c.Size)}
	if q.packet == q.end {
		q.part = q.cutter.Part(&r.Command, 0)
	}
	q.end = r.End
	return r
}

// Unsent reports whether there is a part at the cursor.
func (q *SendQueue) Unsent() bool { return q.packet != q.end }

// Packet returns the number of the first packet of the part at the cursor.
func (q *SendQueue) Packet() int64 { return q.packet }

// Next returns the part at the cursor and its request. There must be one.
func (q *SendQueue) Next() (*Part, *Request) { return &q.part, q.At(q.cursor) }

// Number returns the number of the request at the cursor.
func (q *SendQueue) Number() int64 { return q.cursor }

// Advance moves the cursor to the next part.
func (q *SendQueue) Advance() {
	p := &q.part
	q.packet += int64(p.Packets)
	switch {
	case !p.Last:
		q.cutter.follow(&q.At(q.cursor).Command, p)
	case q.Unsent():
		q.cursor++
		*p = q.cutter.Part(&q.At(q.cursor).Command, 0)
	default:
		q.cursor++
	}
}

// MoveTo moves the cursor to the part with the given packet, which may also be the end of the
// queue.
func (q *SendQueue) MoveTo(packet int64) {
	for q.cursor > q.front && q.At(q.cursor-1).End > packet {
		q.cursor--
	}
	for q.cursor < q.front+int64(q.Len()) && q.At(q.cursor).End <= packet {
		q.cursor++
	}
	if q.packet = packet; !q.Unsent() {
		return
	}
	q.part, q.packet = q.cut(q.At(q.cursor), packet)
}

// cut returns the part of a request with the given packet, and the first packet of the part.
func (q *SendQueue) cut(r *Request, packet int64) (Part, int64) {
	most := q.cutter.most(&r.Command)
	each := q.cutter.packets(&r.Command, min(most, r.Size))
	before := (packet - r.First) / each
	return q.cutter.Part(&r.Command, unit.Bytes(before)*most), r.First + before*each
}

// PartAt returns the part with the given packet, which must be of a request in progress, and the
// request. It does not move the cursor.
func (q *SendQueue) PartAt(packet int64) (Part, *Request) {
	i := sort.Search(q.Len(), func(i int) bool { return q.requests.At(i).End > packet })
	r := q.requests.At(i)
	part, _ := q.cut(r, packet)
	return part, r
}

// Sent reports whether all parts of a request lie before the cursor.
func (q *SendQueue) Sent(number int64) bool { return number < q.cursor }

// Data returns the data in the packets from to upTo-1 of a request, which all carry data.
func (q *SendQueue) Data(r *Request, from, upTo int64) unit.Bytes {
	return min(unit.Bytes(upTo-r.First)*q.cutter.Payload, r.Size) - unit.Bytes(from-r.First)*q.cutter.Payload
}

// Address returns the address, in the peer's memory, of the part at the cursor. There must be one.
func (q *SendQueue) Address() uint64 { return q.At(q.cursor).Address + uint64(q.part.Offset) }

// Drop removes the oldest request, which must be sent.
func (q *SendQueue) Drop() {
	q.requests.Drop(1)
	q.front++
}

// Settle drops the oldest requests as long as they are sent and all of their parts answered.
func (q *SendQueue) Settle() {
	for q.front < q.cursor && q.Front().Open == 0 {
		q.Drop()
	}
}

// Incomplete yields the requests that are not sent, or have parts that are not answered.
func (q *SendQueue) Incomplete() iter.Seq[*Request] {
	return func(yield func(*Request) bool) {
		for i := q.front; i < q.front+int64(q.Len()); i++ {
			if r := q.At(i); (r.Open > 0 || !q.Sent(i)) && !yield(r) {
				return
			}
		}
	}
}

// Clear removes all requests.
func (q *SendQueue) Clear() {
	q.front += int64(q.Len())
	q.requests.Drop(q.Len())
	q.cursor, q.end = q.front, q.packet
}

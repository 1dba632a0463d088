package collector

import (
	"fmt"
	"sync/atomic"
)

// maxBodies is the largest size of all bodies over HTTP that are read or processed at a
// time, in bytes. A client may take half a minute for its body, and there may be
// thousands of clients.
const maxBodies = 128 << 20

var errBusy = fmt.Errorf("request bodies in progress exceed %d MiB: retry later", maxBodies>>20)

// memory is the share of one request in the maxBodies bytes of all requests.
type memory struct {
	all  *atomic.Int64
	mine int64
}

// reserve reserves n bytes, or returns errBusy.
func (m *memory) reserve(n int64) error {
	if m.all.Add(n) > maxBodies {
		m.all.Add(-n)
		return errBusy
	}
	m.mine += n
	return nil
}

// release frees what was reserved.
func (m *memory) release() { m.all.Add(-m.mine) }

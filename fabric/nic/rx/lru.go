package rx

// page is a page of a queue pair's memory.
type page struct {
	qp     uint32
	number uint64
}

// lru is a fully associative cache of translations. It replaces the least recently used.
//
// Invariant: rows 1 to len(rows)-1 form a ring with row 0, which holds no page, in order
// of use: rows[0].after is the most recently used.
type lru struct {
	size int
	rows []row
	at   map[page]int32
}

// row is a cached translation and its neighbours in the order of use.
type row struct {
	page
	before, after int32
}

func newLRU(size int) lru {
	return lru{size: size, rows: make([]row, 1, size+1), at: make(map[page]int32, size)}
}

// use looks up a page and makes it the most recently used. It reports whether the page was
// in the cache.
func (c *lru) use(p page) bool {
	i, hit := c.at[p]
	switch {
	case hit:
		c.unlink(i)
	case len(c.rows) <= c.size:
		i = int32(len(c.rows))
		c.rows = append(c.rows, row{})
	default:
		i = c.rows[0].before
		c.unlink(i)
		delete(c.at, c.rows[i].page)
	}
	first := c.rows[0].after
	c.rows[i] = row{page: p, before: 0, after: first}
	c.rows[first].before, c.rows[0].after = i, i
	c.at[p] = i
	return hit
}

func (c *lru) unlink(i int32) {
	r := c.rows[i]
	c.rows[r.before].after, c.rows[r.after].before = r.after, r.before
}

package store

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	rackfabv1 "github.com/rackfab/rackfab/proto/rackfab/v1"
)

// Points that arrive in any order, some repeatedly, are read back in order with the
// first value of each instant, also after the store was opened again.
func TestPointsArriveInAnyOrder(t *testing.T) {
	const all = 5000
	dir, rnd := t.TempDir(), rand.New(rand.NewPCG(1, 1))
	s := open(t, dir, Options{})
	order := rnd.Perm(all)
	want := map[int64]float64{}
	for i := 0; i < all; {
		p := Points{Series: queue("s0", 1)}
		for range min(1+rnd.IntN(700), all-i) {
			at, value := int64(order[i])*10, float64(i)
			if rnd.IntN(10) == 0 {
				at = int64(order[rnd.IntN(all)]) * 10 // it may be repeated or early
			}
			if _, held := want[at]; !held {
				want[at] = value
			}
			p.Times, p.Values = append(p.Times, at), append(p.Values, value)
			i++
		}
		write(t, s, &Delivery{Run: RunInfo{Run: "a"}, Points: []Points{p}})
		if rnd.IntN(4) == 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir, Options{})
		}
	}
	out, err := s.QuerySeries(&rackfabv1.QuerySeriesRequest{Limit: 2 * all})
	if err != nil {
		t.Fatal(err)
	}
	have := out.GetSeries()[0]
	if len(have.GetTimesPs()) != len(want) || !slices.IsSorted(have.GetTimesPs()) {
		t.Fatalf("%d points, want %d in order", len(have.GetTimesPs()), len(want))
	}
	for i, at := range have.GetTimesPs() {
		if have.GetValues()[i] != want[at] {
			t.Fatalf("at %d: %v, want %v", at, have.GetValues()[i], want[at])
		}
	}
	if c := s.Totals().Points; c.Received != all || c.Stored != int64(len(want)) {
		t.Errorf("%+v, want %d stored", c, len(want))
	}
}

// A damaged end of a chunk costs only the damaged points.
func TestDamagedEndOfASeries(t *testing.T) {
	for _, left := range []int{0, 5} { // bytes of the chunk: none, or the first point and a part
		dir := t.TempDir()
		s := open(t, dir, Options{})
		write(t, s, points(10, 20))
		err := s.runs[0].db.Update(func(tx *bbolt.Tx) error {
			b := tx.Bucket(bucketPoints)
			k, v := b.Cursor().First()
			return b.Put(bytes.Clone(k), bytes.Clone(v[:min(left, len(v)-1)]))
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, Options{})
		write(t, s, points(30))
		out, err := s.QuerySeries(&rackfabv1.QuerySeriesRequest{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		want := []int64{30}
		if left > 0 {
			want = []int64{10, 30}
		}
		if have := out.GetSeries()[0].GetTimesPs(); !slices.Equal(have, want) {
			t.Errorf("%d bytes left: points at %v, want %v", left, have, want)
		}
	}
}

// Points that arrive after the last chunk of a series was lost go into the chunks before
// it.
func TestDamagedChunkAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	var times []int64
	for i := range int64(chunkPoints + 10) {
		times = append(times, 10*i)
	}
	write(t, s, points(times...))
	last := times[chunkPoints]
	err := s.runs[0].db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketPoints).Put(pointsKey(1, last), nil) })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	write(t, s, points(0, 5, 20, last+5, last+15))
	out, err := s.QuerySeries(&rackfabv1.QuerySeriesRequest{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Concat([]int64{0, 5}, times[1:chunkPoints], []int64{last + 5, last + 15})
	if have := out.GetSeries()[0].GetTimesPs(); !slices.Equal(have, want) {
		t.Errorf("%d points, want %d in order: %v", len(have), len(want), have)
	}
}

// points returns a series with one value at each of the given instants.
func points(times ...int64) *Delivery {
	return &Delivery{Run: RunInfo{Run: "a"}, Points: []Points{{Series: queue("s0", 1), Times: times, Values: make([]float64, len(times))}}}
}

// A run knows the length of its bins from any delivery of points, and the instant of its
// latest point, also after the store was opened again.
func TestRunKnowsBinAndLastPoint(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	write(t, s, &Delivery{Run: RunInfo{Run: "a"}, Spans: get(1, "F1", 0, 10)}) // spans say nothing about bins
	write(t, s, &Delivery{Run: RunInfo{Run: "a", Bin: 50}, Points: []Points{{Series: queue("s0", 1), Times: []int64{149, 49}, Values: []float64{1, 2}}}})
	write(t, s, &Delivery{Run: RunInfo{Run: "a"}, Points: []Points{{Series: queue("s0", 2), Times: []int64{99}, Values: []float64{1}}}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{ReadOnly: true})
	if r := s.Runs()[0]; r.GetBinPs() != 50 || r.GetLastPointPs() != 149 {
		t.Errorf("bin %d ps, last point at %d ps, want 50 and 149", r.GetBinPs(), r.GetLastPointPs())
	}
}

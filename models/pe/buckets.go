package pe

import (
	"fmt"
	"math"
)

// buckets sort offsets by size.
type buckets struct {
	number, most  int // of buckets; the largest distance that is told apart
	bidirectional bool
}

// check returns an error where there are too few buckets for the direction, or for the largest
// distance.
func (b buckets) check() error {
	least := 2
	if b.bidirectional {
		least = 4
	}
	if b.number < least || b.bidirectional && b.number%2 != 0 {
		return fmt.Errorf("%d buckets: take at least %d, and an even number for both directions",
			b.number, least)
	}
	if _, exact := b.side(); b.most <= exact {
		return fmt.Errorf("the largest distance %d is within the %d that have a bucket each: "+
			"take a larger one, or fewer buckets than %d", b.most, exact, b.number)
	}
	return nil
}

// side returns the number of buckets for each direction and how many of them hold one offset.
func (b buckets) side() (half, exact int) {
	half = b.number
	if b.bidirectional {
		half /= 2
	}
	return half, half / 2
}

// of returns the bucket of the offset from query to key.
func (b buckets) of(offset int) int {
	half, exact := b.side()
	first, distance := 0, -offset
	if b.bidirectional && offset > 0 {
		first, distance = half, offset
	}
	if distance = max(distance, 0); distance < exact {
		return first + distance
	}
	log := float32(math.Log(float64(float32(distance) / float32(exact))))
	part := log / float32(math.Log(float64(b.most)/float64(exact))) * float32(half-exact)
	return first + min(exact+int(part), half-1)
}

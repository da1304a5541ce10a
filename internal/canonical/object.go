package canonical

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// member is where one member of an object stands in dst.
type member struct {
	key, colon, end int
	offset          int // of the key, in raw
}

type unsortedObject struct {
	start, end  int // in dst
	first, last int // of its members, in moved
}

func (c *canonicalizer) object() {
	start, first, sorted := len(c.dst), len(c.members), true
	for more := c.open('}'); more; more = c.more('}') {
		m := c.readKey()
		if n := len(c.members); n > first {
			sorted = sorted && c.compare(c.members[n-1], m) < 0
		}
		c.value()
		m.end = len(c.dst)
		c.members = append(c.members, m)
	}
	if !sorted {
		c.sort(start, c.members[first:])
	}
	c.members = c.members[:first]
}

func (c *canonicalizer) readKey() member {
	if c.space(); c.peek() != '"' {
		panic(c.failure("expected a key"))
	}
	m := member{key: len(c.dst), offset: c.pos}
	c.text()
	m.colon = len(c.dst)
	if c.space(); c.peek() != ':' {
		panic(c.failure("expected ':'"))
	}
	c.copyByte()
	return m
}

func (c *canonicalizer) sort(start int, members []member) {
	slices.SortFunc(members, c.compare)
	for i := 1; i < len(members); i++ {
		if c.compare(members[i-1], members[i]) == 0 {
			second := max(members[i-1].offset, members[i].offset)
			panic(&Error{Offset: second, Reason: "duplicate key"})
		}
	}
	first := len(c.moved)
	c.moved = append(c.moved, members...)
	c.unsorted = append(c.unsorted, unsortedObject{start, len(c.dst), first, len(c.moved)})
}

// reorder rewrites dst from base on. It copies every byte twice, however
// deeply unsorted objects are nested: sorting each in place as it ends would
// let a small payload cost the square of its size.
func (c *canonicalizer) reorder(base int) {
	sort.Sort((*byStart)(c))
	text := c.dst
	c.dst = c.emit(c.dst, text, base, len(text))
	n := copy(c.dst[base:], c.dst[len(text):])
	c.dst = c.dst[:base+n]
}

// byStart sorts the unsorted objects. slices.SortFunc is a function of its own for each type:
// for this one, 10 KB of every program.
type byStart canonicalizer

func (c *byStart) Len() int           { return len(c.unsorted) }
func (c *byStart) Less(i, j int) bool { return c.unsorted[i].start < c.unsorted[j].start }
func (c *byStart) Swap(i, j int)      { c.unsorted[i], c.unsorted[j] = c.unsorted[j], c.unsorted[i] }

// emit appends text[from:to] to out, members in canonical order.
func (c *canonicalizer) emit(out, text []byte, from, to int) []byte {
	for {
		i := sort.Search(len(c.unsorted), func(i int) bool { return c.unsorted[i].start >= from })
		if i == len(c.unsorted) || c.unsorted[i].start >= to {
			return append(out, text[from:to]...)
		}
		o := c.unsorted[i]
		out = append(out, text[from:o.start]...)
		for j, m := range c.moved[o.first:o.last] {
			out = append(out, "{,"[min(j, 1)])
			out = append(out, text[m.key:m.colon]...)
			out = c.emit(out, text, m.colon, m.end)
		}
		out = append(out, '}')
		from = o.end
	}
}

// compare orders members by the UTF-16 code units of their keys.
func (c *canonicalizer) compare(m, n member) int {
	a, b := c.dst[m.key+1:m.colon-1], c.dst[n.key+1:n.colon-1]
	for len(a) > 0 && len(b) > 0 {
		x, y, i, j := a[0], b[0], 1, 1
		if x == '\\' {
			x, i = unescaped(a)
		}
		if y == '\\' {
			y, j = unescaped(b)
		}
		if x != y {
			return cmp.Compare(utf16Rank(x), utf16Rank(y))
		}
		a, b = a[i:], b[j:]
	}
	return cmp.Compare(len(a), len(b))
}

// unescaped returns the byte of the escape at the start of s, and the length of
// the escape. Canonical ones stand for ASCII only.
func unescaped(s []byte) (byte, int) {
	if s[1] == 'u' {
		r, _ := hex4(s[2:])
		return byte(r), 6
	}
	return shortEscaped[strings.IndexByte(shortEscapes, s[1])], 2
}

// utf16Rank makes the order of UTF-8 bytes that of UTF-16: the two differ only
// where surrogates (lead bytes F0 to F4) meet U+E000 to U+FFFF (EE and EF).
func utf16Rank(b byte) byte {
	switch {
	case b >= 0xF0:
		return b - 2
	case b >= 0xEE:
		return b + 5
	default:
		return b
	}
}

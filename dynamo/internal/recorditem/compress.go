package recorditem

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// compressionLevel makes results about 5% larger than the best level, in a third
// of its time.
const compressionLevel = 3

// compression compresses results with gzip, which the SDK links anyway, so that no
// function becomes larger. Its checksum detects damage. It is safe for concurrent use,
// and allocates nothing before the first large result.
type compression struct {
	limit     int       // of data, in bytes
	deflaters sync.Pool // of *gzip.Writer: one has 800 KB
	inflaters sync.Pool // of *gzip.Reader
}

// compress returns data compressed behind tag, or false if that is not smaller
// or if data exceeds the limit.
func (c *compression) compress(tag byte, data []byte) ([]byte, bool) {
	if len(data) > c.limit {
		return nil, false
	}
	w, ok := c.deflaters.Get().(*gzip.Writer)
	if !ok {
		var err error
		if w, err = gzip.NewWriterLevel(nil, compressionLevel); err != nil {
			return nil, false // data is stored as it is
		}
	}
	defer c.deflaters.Put(w)
	out := bytes.NewBuffer(append(make([]byte, 0, len(data)/4), tag))
	w.Reset(out)
	_, err := w.Write(data)
	err = cmp.Or(err, w.Close())
	return out.Bytes(), err == nil && out.Len() < len(data)
}

// decompress returns data that compress has compressed, without the tag. More
// than c.limit bytes are an error.
func (c *compression) decompress(b []byte) ([]byte, error) {
	r, ok := c.inflaters.Get().(*gzip.Reader)
	if !ok {
		r = &gzip.Reader{}
	}
	defer c.inflaters.Put(r)
	in := bytes.NewReader(b)
	if err := r.Reset(in); err != nil {
		return nil, err
	}
	r.Multistream(false)
	out := bytes.NewBuffer(make([]byte, 0, min(sizeHint(b), c.limit)+bytes.MinRead))
	_, err := out.ReadFrom(io.LimitReader(r, int64(c.limit)+1))
	switch {
	case err != nil:
		return nil, err
	case out.Len() > c.limit:
		return nil, fmt.Errorf("it has more than %d bytes", c.limit)
	case in.Len() > 0:
		return nil, errors.New("bytes follow its end")
	}
	return out.Bytes(), nil
}

// sizeHint returns the size that gzip claims at its end, or the most that so few bytes
// can contain.
func sizeHint(b []byte) int {
	const (
		trailer = 4
		most    = 1032 // times the compressed size
	)
	if len(b) < trailer {
		return 0
	}
	claimed := binary.LittleEndian.Uint32(b[len(b)-trailer:])
	return int(min(uint64(claimed), uint64(len(b))*most))
}

package recorditem

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
)

// Tags are the first byte of a binary result. No writer of plain results uses
// binary, so that a tag cannot be taken for a user's result.
const (
	TagRaw         = 'r' // the bytes themselves
	TagGzip        = 'g' // the bytes compressed
	TagPayload     = 'p' // the reference of a result in a payload store
	TagUnavailable = 'u' // why there is no result
)

const (
	// maxDataBytes bounds the size of a decompressed result: 400 KB can decode to
	// 400 MB.
	maxDataBytes = 64 << 20
	// MaxReasonSize bounds the text in place of a result, in bytes.
	MaxReasonSize = 1 << 10
)

// codec turns results into attribute values and back.
type codec struct {
	native        bool
	compressAbove int
	compression
}

func newCodec(native bool, compressAbove int) *codec {
	return &codec{native: native, compressAbove: compressAbove, compression: compression{limit: maxDataBytes}}
}

// Result returns the attribute value of a result. It may exceed an item.
func (c *codec) Result(data []byte) types.AttributeValue {
	if c.native {
		if v, ok := toNative(data); ok {
			return v
		}
		// Not as S, which stands for a JSON string in this format.
		return tagged(TagRaw, data)
	}
	return c.encodeText(data)
}

// encodeText returns the attribute value of bytes: text as it is, and binary with a
// tag. Steps always use it, as only Once reads them.
func (c *codec) encodeText(data []byte) types.AttributeValue {
	if c.compressAbove >= 0 && len(data) > c.compressAbove {
		if z, smaller := c.compress(TagGzip, data); smaller {
			return &types.AttributeValueMemberB{Value: z}
		}
	}
	if utf8.Valid(data) {
		return attribute.Text(string(data))
	}
	return tagged(TagRaw, data)
}

func tagged(tag byte, data []byte) types.AttributeValue {
	b := make([]byte, 0, len(data)+1)
	return &types.AttributeValueMemberB{Value: append(append(b, tag), data...)}
}

// Elsewhere returns the attribute value of a reference to a result in a payload
// store.
func Elsewhere(reference string) types.AttributeValue {
	return tagged(TagPayload, []byte(reference))
}

// Unavailable returns the attribute value of the reason why there is no result.
func Unavailable(reason string) types.AttributeValue {
	return tagged(TagUnavailable, []byte(reason))
}

// content is the content of an attribute value: one of the three.
type content struct {
	data        []byte
	payload     string // the reference of data in a payload store
	unavailable string // why there is none
}

func (c *codec) decode(v types.AttributeValue) (content, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		if !c.native {
			return content{data: []byte(v.Value)}, nil
		}
	case *types.AttributeValueMemberB:
		return c.decodeTagged(v.Value)
	}
	data, err := fromNative(v)
	return content{data: data}, err
}

func (c *codec) decodeTagged(b []byte) (content, error) {
	if len(b) == 0 {
		return content{}, errors.New("an empty binary result")
	}
	switch tag, b := b[0], b[1:]; tag {
	case TagRaw:
		return content{data: append([]byte{}, b...)}, nil
	case TagGzip:
		data, err := c.decompress(b)
		if err != nil {
			return content{}, fmt.Errorf("a compressed result: %w", err)
		}
		return content{data: data}, nil
	case TagPayload:
		if len(b) == 0 {
			return content{}, errors.New("an empty reference to a result in a payload store")
		}
		return content{payload: string(b)}, nil
	case TagUnavailable:
		if len(b) == 0 {
			return content{unavailable: "no reason was stored"}, nil
		}
		return content{unavailable: string(b)}, nil
	default:
		return content{}, fmt.Errorf("a binary result with the unknown tag %#x", tag)
	}
}

// Step returns the attribute value of a step's result, or of a request. NULL is the nil
// one.
func (c *codec) Step(data []byte) types.AttributeValue {
	if data == nil {
		return &types.AttributeValueMemberNULL{Value: true}
	}
	return c.encodeText(data)
}

func (c *codec) decodeStep(v types.AttributeValue) ([]byte, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberNULL:
		return nil, nil
	case *types.AttributeValueMemberS:
		return []byte(v.Value), nil
	case *types.AttributeValueMemberB:
		r, err := c.decodeTagged(v.Value)
		if err == nil && r.data == nil {
			// The core stores such a step with a form of its own.
			err = errors.New("the result of a step, or a request, is tagged as no data")
		}
		return r.data, err
	default:
		return nil, fmt.Errorf("the result of a step, or a request, has type %s", attribute.TypeName(v))
	}
}

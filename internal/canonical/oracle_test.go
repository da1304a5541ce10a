package canonical

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The oracle of the fuzz targets shares no code with the canonical form: it
// reads with encoding/json and compares numbers with math/big.

type oracleNumber struct{ mantissa, exponent string } // without zeros at the end

func oracle(raw []byte) (any, error) {
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return nil, errors.New("not JSON, or not UTF-8")
	}
	if err := oracleEscapes(raw); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := oracleValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("trailing data")
	}
	return v, nil
}

// oracleEscapes finds lone surrogates, which encoding/json replaces.
func oracleEscapes(raw []byte) error {
	var high bool
	for i := 0; i < len(raw); {
		var unit uint64
		n := 1
		if raw[i] == '\\' {
			n = 2
			if raw[i+1] == 'u' {
				var err error
				if unit, err = strconv.ParseUint(string(raw[i+2:i+6]), 16, 16); err != nil {
					return err
				}
				n = 6
			}
		}
		if low := unit >= 0xDC00 && unit < 0xE000; low != high {
			return errors.New("lone surrogate")
		}
		high = unit >= 0xD800 && unit < 0xDC00
		i += n
	}
	return nil
}

func oracleValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Number:
		return oracleDecimal(string(token))
	case json.Delim:
		list, object := []any{}, map[string]any{}
		for d.More() {
			if token == '{' {
				key, err := d.Token()
				if err != nil {
					return nil, err
				}
				if _, ok := object[key.(string)]; ok {
					return nil, errors.New("duplicate key")
				}
				if object[key.(string)], err = oracleValue(d); err != nil {
					return nil, err
				}
				continue
			}
			v, err := oracleValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		if token == '{' {
			return object, nil
		}
		return list, nil
	default:
		return token, nil
	}
}

func oracleDecimal(s string) (any, error) {
	mantissa, power, _ := strings.Cut(strings.ToLower(s), "e")
	if power == "" {
		power = "0"
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	m, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		return nil, errors.New("mantissa")
	}
	if m.Sign() == 0 {
		return oracleNumber{"0", "0"}, nil
	}
	e, ok := new(big.Int).SetString(strings.TrimPrefix(power, "+"), 10)
	if !ok {
		return nil, errors.New("exponent")
	}
	e.Sub(e, big.NewInt(int64(len(fraction))))
	for ten, rest := big.NewInt(10), new(big.Int); ; {
		q, r := new(big.Int).QuoRem(m, ten, rest)
		if r.Sign() != 0 {
			break
		}
		m = q
		e.Add(e, big.NewInt(1))
	}
	digits := len(new(big.Int).Abs(m).String())
	first := new(big.Int).Add(e, big.NewInt(int64(digits-1)))
	if first.CmpAbs(big.NewInt(1e18)) > 0 {
		return nil, errors.New("exponent out of range")
	}
	return oracleNumber{m.String(), e.String()}, nil
}

// respell writes a value of the oracle in another way that means the same.
func respell(r *rand.Rand, v any) string {
	space := func() string { return strings.Repeat(" \t\n\r", 2)[:r.IntN(8)*r.IntN(2)] }
	var b strings.Builder
	b.WriteString(space())
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		b.WriteString(respellString(r, v))
	case oracleNumber:
		b.WriteString(respellNumber(r, v))
	case []any:
		b.WriteString("[" + space())
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(respell(r, e))
		}
		b.WriteByte(']')
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		b.WriteString("{" + space())
		for i, k := range keys {
			if i > 0 {
				b.WriteString("," + space())
			}
			b.WriteString(respellString(r, k) + space() + ":" + respell(r, v[k]))
		}
		b.WriteByte('}')
	}
	b.WriteString(space())
	return b.String()
}

func respellString(r *rand.Rand, s string) string {
	b := []byte{'"'}
	unit := func(u rune) {
		h := strconv.FormatInt(0x10000+int64(u), 16)[1:]
		if r.IntN(2) == 0 {
			h = strings.ToUpper(h)
		}
		b = append(append(b, '\\', 'u'), h...)
	}
	for _, c := range s {
		switch {
		case c < ' ' || c == '"' || c == '\\' || r.IntN(3) == 0:
			if i := strings.IndexRune("\"\\/\b\f\n\r\t", c); i >= 0 && r.IntN(2) == 0 {
				b = append(b, '\\', `"\/bfnrt`[i])
			} else if c >= 0x10000 {
				unit(0xD800 + (c-0x10000)>>10)
				unit(0xDC00 + (c-0x10000)&0x3FF)
			} else {
				unit(c)
			}
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return string(append(b, '"'))
}

// respellNumber moves the decimal point and adds zeros.
func respellNumber(r *rand.Rand, n oracleNumber) string {
	digits, negative := strings.CutPrefix(n.mantissa, "-")
	e, ok := new(big.Int).SetString(n.exponent, 10)
	if !ok {
		panic("the oracle's own exponent")
	}
	zeros := r.IntN(4)
	digits += strings.Repeat("0", zeros)
	e.Sub(e, big.NewInt(int64(zeros)))
	whole, fraction := digits, ""
	if at := r.IntN(len(digits) + 1); at < len(digits) {
		if e.Add(e, big.NewInt(int64(len(digits)-at))); at == 0 {
			whole, fraction = "0", strings.Repeat("0", zeros)+digits
			e.Add(e, big.NewInt(int64(zeros)))
		} else {
			whole, fraction = digits[:at], digits[at:]
		}
	}
	if len(whole) > 1 && whole[0] == '0' { // of a zero
		whole = "0"
	}
	s := whole
	if fraction != "" {
		s += "." + fraction
	}
	if e.Sign() != 0 || r.IntN(2) == 0 {
		sign := ""
		if e.Sign() >= 0 {
			sign = []string{"", "+"}[r.IntN(2)]
		} else {
			sign = "-"
		}
		s += []string{"e", "E"}[r.IntN(2)] + sign + strings.Repeat("0", r.IntN(3)) + new(big.Int).Abs(e).String()
	}
	if negative || n.mantissa == "0" && r.IntN(2) == 0 {
		s = "-" + s
	}
	return s
}

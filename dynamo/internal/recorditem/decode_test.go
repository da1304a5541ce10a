package recorditem

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lambda-once/once/dynamo/internal/attribute"
	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
)

func newFormat(t testing.TB, o Options) *Format {
	t.Helper()
	f, err := New(o)
	check.Must(t, err)
	return f
}

type item = map[string]types.AttributeValue

func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

func TestRecordAcceptsOnlySoundItems(t *testing.T) {
	f := newFormat(t, Options{})
	null := &types.AttributeValueMemberNULL{Value: true}
	base := driver.Record{ID: "op#1", Status: "COMPLETED"}
	with := func(edit func(*driver.Record)) *driver.Record { r := base; edit(&r); return &r }
	for name, c := range map[string]struct {
		set  item
		want *driver.Record // nil is an error
	}{
		"least":              {nil, &base},
		"unknown status":     {item{"status": attribute.Text("EXPIRED")}, with(func(r *driver.Record) { r.Status = "EXPIRED" })},
		"unknown attribute":  {item{"more": attribute.Text("x")}, &base},
		"lease":              {item{"in_progress_expiration": num("1700000000123")}, with(func(r *driver.Record) { r.Lease = time.UnixMilli(1700000000123) })},
		"lease ended":        {item{"in_progress_expiration": num("0")}, with(func(r *driver.Record) { r.Lease = driver.LeaseEnded })},
		"expiration":         {item{"expiration": num("253402300799")}, with(func(r *driver.Record) { r.Expires = time.Unix(MaxSeconds, 0) })},
		"no validation":      {item{"validation": null}, &base},
		"empty validation":   {item{"validation": attribute.Text("")}, &base},
		"null data":          {item{"data": null}, with(func(r *driver.Record) { r.Data = []byte("null") })},
		"empty data":         {item{"data": attribute.Text("")}, with(func(r *driver.Record) { r.Data = []byte{} })},
		"counts":             {item{"attempt": num("7"), "refunds": num("2")}, with(func(r *driver.Record) { r.Attempt, r.Refunds = 7, 2 })},
		"empty steps":        {item{"steps": &types.AttributeValueMemberM{}}, &base},
		"steps":              {item{"steps": &types.AttributeValueMemberM{Value: item{"a": null}}}, with(func(r *driver.Record) { r.Steps = map[string][]byte{"a": nil} })},
		"began":              {item{"began": num("1700000000123")}, with(func(r *driver.Record) { r.Began = time.UnixMilli(1700000000123) })},
		"request":            {item{"request": attribute.Text("{}")}, with(func(r *driver.Record) { r.Request = []byte("{}") })},
		"null request":       {item{"request": null}, &base},
		"began text":         {item{"began": attribute.Text("1700000000123")}, nil},
		"began fraction":     {item{"began": num("1700000000123.5")}, nil},
		"request number":     {item{"request": num("1")}, nil},
		"request elsewhere":  {item{"request": Elsewhere("p")}, nil},
		"ended":              {item{"ended": attribute.Text(`{"at":1700000000123}`)}, with(func(r *driver.Record) { r.Ended.At = time.UnixMilli(1700000000123) })},
		"ended yesterday":    {item{"ended": attribute.Text("yesterday")}, &base},
		"ended number":       {item{"ended": num("1700000000123")}, &base},
		"no id":              {item{"id": nil}, nil},
		"no status":          {item{"status": nil}, nil},
		"empty status":       {item{"status": attribute.Text("")}, nil},
		"status number":      {item{"status": num("1")}, nil},
		"empty owner":        {item{"owner": attribute.Text("")}, nil},
		"owner number":       {item{"owner": num("1")}, nil},
		"attempt zero":       {item{"attempt": num("0")}, nil},
		"attempt huge":       {item{"attempt": num("9223372036854775808")}, nil},
		"attempt near":       {item{"attempt": num("9223372036854775807")}, nil},
		"attempt text":       {item{"attempt": attribute.Text("1")}, nil},
		"refunds negative":   {item{"refunds": num("-1")}, nil},
		"expiration in ms":   {item{"expiration": num("1700000000123")}, nil},
		"expiration 1e99":    {item{"expiration": num("1e99")}, nil},
		"fraction of second": {item{"expiration": num("1.5")}, nil},
		"fraction of lease":  {item{"in_progress_expiration": num("1700000000123.0001")}, &driver.Record{ID: "op#1", Status: "COMPLETED", Lease: time.UnixMilli(1700000000124)}},
		"lease .0":           {item{"in_progress_expiration": num("1700000000123.0")}, &driver.Record{ID: "op#1", Status: "COMPLETED", Lease: time.UnixMilli(1700000000123)}},
		"lease exponent":     {item{"in_progress_expiration": num("1.7e12")}, nil},
		"lease too late":     {item{"in_progress_expiration": num("253402300799999.5")}, nil},
		"lease negative 0":   {item{"in_progress_expiration": num("-0.5")}, nil},
		"lease negative":     {item{"in_progress_expiration": num("-1")}, nil},
		"lease null":         {item{"in_progress_expiration": null}, nil},
		"validation number":  {item{"validation": num("1")}, nil},
		"steps text":         {item{"steps": attribute.Text("{}")}, nil},
		"step number":        {item{"steps": &types.AttributeValueMemberM{Value: item{"a": num("1")}}}, nil},
		"step unavailable":   {item{"steps": &types.AttributeValueMemberM{Value: item{"a": Unavailable("why")}}}, nil},
		"data set":           {item{"data": &types.AttributeValueMemberNS{Value: []string{"1"}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			stored := item{"id": attribute.Text("op#1"), "status": attribute.Text("COMPLETED")}
			for k, v := range c.set {
				stored[k] = v
				if v == nil {
					delete(stored, k)
				}
			}
			got, err := f.Record(stored)
			if c.want == nil {
				if err == nil {
					t.Fatalf("decoded %+v", got)
				}
				check.Lacks(t, err.Error(), "op#1", "the text holds a key")
				return
			}
			check.Nil(t, err)
			check.Deep(t, got, *c.want)
		})
	}
}

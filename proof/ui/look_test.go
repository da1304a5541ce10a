package ui

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/lambda-once/once/idempotent/driver"
	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/redis"
	"github.com/lambda-once/once/redis/redislocal"
)

// sample stores what a page of a day looks like.
func (s *scene) sample() {
	s.Helper()
	for i := range 40 {
		id := fmt.Sprintf("place-order#%064x", i*7919)
		r := s.claim(id, map[bool]time.Duration{true: -20 * time.Minute, false: time.Minute}[i%9 == 0])
		c := driver.Change{Status: driver.Completed, Data: []byte(`{"id":"order"}`), Expires: time.Now().Add(24 * time.Hour), Ended: driver.Ending{At: time.Now().Add(-time.Duration(i) * time.Minute)}}
		if i%11 == 3 {
			c.Status, c.Ended.Type, c.Ended.Code, c.Data = driver.Failed, "CardDeclined", "05", []byte(`{"type":"CardDeclined"}`)
		}
		if i%9 > 1 {
			s.change(r, c)
		}
	}
	r := s.claim("transfer#77ab12cd34ef", -40*time.Minute)
	s.change(r, driver.Change{Steps: map[string][]byte{"reserve": []byte(`=1`), "charge": []byte(`="ch_1"`)}})
}

// TestPictures writes what a person looks at, to the folder ONCE_PICTURES. That of
// docs/operate.md is record-light-1100.png.
func TestPictures(t *testing.T) {
	dir := os.Getenv("ONCE_PICTURES")
	if dir == "" {
		return
	}
	needsBrowser(t)
	server := redislocal.NewServer(t, &redislocal.Options{Args: []string{"--save", ""}})
	store, err := redis.New(server.Client(), &redis.Options{Prefix: "payments:"})
	check.Must(t, err)
	s := &scene{t, store, []string{"--redis", "redis://" + server.Addr(), "--key-prefix", "payments:"}}
	s.sample()
	b := s.open(s.start("--write"))
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1100, 360} {
			for name, at := range map[string]string{"operations": "/", "records": "/records?operation=place-order", "record": "/record?id=transfer%2377ab12cd34ef", "act": "/act?do=fail&id=transfer%2377ab12cd34ef", "release": "/act?do=delete&id=transfer%2377ab12cd34ef"} {
				_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
				check.Must(t, err)
				b.do(chromedp.EmulateViewport(width, 700), chromedp.Navigate(b.at+at))
				png := returns(b, chromedp.FullScreenshot(100))
				check.Must(t, os.WriteFile(fmt.Sprintf("%s/%s-%s-%d.png", dir, name, scheme, width), png, 0o600))
			}
		}
	}
}

package redis_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/idempotent"
	onceredis "github.com/lambda-once/once/redis"
)

func ExampleNew() {
	addr := os.Getenv("REDISLOCAL_ADDR")
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	defer client.Close()
	store, err := onceredis.New(client, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	x, err := idempotent.New("send-receipt", store, &idempotent.Config{Retention: time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	orderID, sent := rand.Text(), 0
	for range 3 {
		_, err := idempotent.Do(context.Background(), x, idempotent.Key{ID: orderID}, func(context.Context) (string, error) {
			sent++
			return "receipt 1", nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("sent:", sent)
	// Output:
	// sent: 1
}

// A store on a cluster whose answers wait for one replica.
func ExampleOptions() {
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:                 []string{"node-1:6379", "node-2:6379", "node-3:6379"},
		ContextTimeoutEnabled: true,
	})
	defer client.Close()
	store, err := onceredis.New(client, &onceredis.Options{Replicas: 1, WaitTimeout: 200 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%T\n", store)
	// Output:
	// *redis.Store
}

// The variables of infra.NewRedisStore: each new connection asks for its password.
func ExampleNew_passwordOfEachConnection() {
	os.Setenv("REDIS_URL", "rediss://once@cache.example.com:6379") // as the construct does
	sign := func(context.Context) (string, error) { return "a token", nil }

	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	user := options.Username
	options.CredentialsProviderContext = func(ctx context.Context) (string, string, error) {
		password, err := sign(ctx)
		return user, password, err
	}
	options.ConnMaxLifetime = 11 * time.Hour // AWS closes the connection after 12
	options.ContextTimeoutEnabled = true
	client := redis.NewClient(options)
	defer client.Close()

	store, err := onceredis.New(client, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%T as %s, with TLS: %t\n", store, user, options.TLSConfig != nil)
	// Output:
	// *redis.Store as once, with TLS: true
}

package redislocal

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/internal/notrun"
	"github.com/lambda-once/once/internal/serving"
)

func TestMain(m *testing.M) { os.Exit(Main(m, nil)) }

func TestEachTestHasAPrefixOfItsOwn(t *testing.T) {
	client, prefix := NewClient(t)
	_, other := NewClient(t)
	check.Differ(t, prefix, other, "two tests share the prefix")
	check.Must(t, client.Set(t.Context(), prefix+"a", "b", 0).Err())
	if got, err := client.Get(t.Context(), prefix+"a").Result(); got != "b" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestAServerWithArgumentsIsANewOneThatStopsWithItsTest(t *testing.T) {
	var addr string
	t.Run("inner", func(t *testing.T) {
		s := NewServer(t, &Options{Args: []string{"--maxmemory", "12mb"}})
		addr = s.Addr()
		got, err := s.Client().ConfigGet(t.Context(), "maxmemory").Result()
		if err != nil || got["maxmemory"] != "12582912" {
			t.Errorf("maxmemory is %v, %v", got, err)
		}
	})
	check.Failed(t, answers(t.Context(), addr), addr, "outlived its test")
}

func TestDebianPackagesRunWithoutBeingInstalled(t *testing.T) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		notrun.Say(t, "there is no apt-get")
		return
	}
	if server, err := installed(t.Context()); err == nil {
		notrun.Say(t, server.Path+" is installed, so apt would fetch nothing")
		return
	}
	cache, err := os.UserCacheDir()
	check.Must(t, err)
	o := serving.Options{CacheDir: filepath.Join(cache, "once", "redis"), Log: t.Output()}
	server, err := install(t.Context(), o)
	check.Must(t, err)
	again, err := install(t.Context(), o)
	if err != nil || again.Path != server.Path || !slices.Equal(again.Env, server.Env) {
		t.Errorf("the cache has %v, %v; want %v", again, err, server)
	}
	if left, err := filepath.Glob(filepath.Join(o.CacheDir, ".fetch-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestStartNamesWhatItDoesNotFind(t *testing.T) {
	// Neither a program, nor Docker.
	for _, name := range []string{"PATH", "HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, t.TempDir())
	}
	t.Setenv(addrVar, "")
	if _, err := Start(t.Context(), &Options{Log: t.Output()}); !errors.Is(err, ErrNoRuntime) || !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestPlannedPackages(t *testing.T) {
	plan := "NOTE: only a simulation\nInst libx (1 Debian:12 [amd64])\nInst redis-server (2 Debian:12 [amd64])\nConf libx (1)\n"
	check.Slice(t, planned(plan), []string{"libx", "redis-server"}, "planned")
}

func TestAClusterServesEveryKey(t *testing.T) {
	nodes := NewCluster(t, 3)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes.Addrs()})
	defer client.Close()
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		check.Must(t, client.Set(t.Context(), key, key, 0).Err())
	}
}

package lambdaruntime_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/lambda-once/once/internal/check"
	"github.com/lambda-once/once/local/lambdaruntime"
)

// parent has one process that is idle, and so stopped, and one at work.
func parent() {
	ctx, addr := context.Background(), os.Getenv("LAMBDARUNTIME_PARENT")
	r, err := lambdaruntime.Start(ctx, lambdaruntime.Function{Binary: os.Getenv(handlerVar), Environments: 2, Timeout: time.Hour})
	if err == nil {
		_, err = r.Environment(0).Invoke(ctx, event("hold", addr))
	}
	if err == nil {
		fmt.Println("idle")
		_, err = r.Environment(1).Invoke(ctx, event("hang", addr))
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestNoOrphanAfterSIGKILL(t *testing.T) {
	addr, accept := listen(t)
	self, err := os.Executable()
	check.Must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "LAMBDARUNTIME_PARENT="+addr)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	check.Must(t, err)
	check.Must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "idle\n" {
		t.Fatalf("the parent said %q, %v", line, err)
	}
	idle, busy := accept(), accept()
	check.Must(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Fatal("a killed process ended well")
	}
	dead(t, idle)
	dead(t, busy)
}

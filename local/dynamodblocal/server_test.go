package dynamodblocal

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestMain(m *testing.M) {
	if os.Getenv("DYNAMODBLOCAL_PARENT") != "" {
		parent()
	}
	os.Exit(Main(m))
}

// parent starts a server, prints its endpoint, and waits to be killed.
func parent() {
	s, err := Start(context.Background(), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.Endpoint())
	select {}
}

func TestNewTable(t *testing.T) {
	client, table := NewTable(t)
	_, other := NewTable(t)
	if table == other || !strings.HasPrefix(table, "TestNewTable-") {
		t.Errorf("tables %q and %q", table, other)
	}
	key := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "a"}}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: key}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{table: true, other: false} {
		got, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: key, ConsistentRead: aws.Bool(true)})
		if err != nil {
			t.Fatal(err)
		}
		if found := got.Item != nil; found != want {
			t.Errorf("%s: the item is there: %v, want %v", name, found, want)
		}
	}
	ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil {
		t.Fatal(err)
	}
	if got := aws.ToString(ttl.TimeToLiveDescription.AttributeName); got != "expiration" {
		t.Errorf("time to live is on %q", got)
	}
}

func TestNewTableWithoutAServer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server of its own")
	}
	t.Setenv(endpointVar, "")
	var endpoint string
	t.Run("inner", func(t *testing.T) {
		client, table := NewTable(t)
		endpoint = *client.Options().BaseEndpoint
		if _, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table}); err != nil {
			t.Fatal(err)
		}
	})
	if listens(endpoint) {
		t.Errorf("%s outlived its test", endpoint)
	}
}

func TestStartFindsARunningServer(t *testing.T) {
	s, err := Start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := os.Getenv(endpointVar); s.Endpoint() != want {
		t.Errorf("endpoint %s, want %s", s.Endpoint(), want)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if !listens(s.Endpoint()) {
		t.Error("Stop stopped a server that it had not started")
	}
}

func TestStartWhereNobodyAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server of its own")
	}
	dead := "http://127.0.0.1:1"
	t.Setenv(endpointVar, dead)
	var log bytes.Buffer
	s, err := Start(t.Context(), &Options{Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	if s.Endpoint() == dead || !strings.Contains(log.String(), "does not answer") {
		t.Errorf("endpoint %s, log %q", s.Endpoint(), &log)
	}
	if got := s.Env()[0]; got != endpointVar+"="+s.Endpoint() {
		t.Errorf("environment %q", got)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if listens(s.Endpoint()) {
		t.Error("it runs after Stop")
	}
}

func TestNoOrphanAfterSIGKILL(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "DYNAMODBLOCAL_PARENT=1", endpointVar+"=")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	endpoint, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	endpoint = strings.TrimSpace(endpoint)
	if !listens(endpoint) {
		t.Fatalf("%s does not listen", endpoint)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("a killed process exited with 0")
	}
	for end := time.Now().Add(2 * time.Minute); listens(endpoint); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the JVM behind %s lives on", endpoint)
		}
	}
}

func listens(endpoint string) bool {
	conn, err := net.Dial("tcp", strings.TrimPrefix(endpoint, "http://"))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

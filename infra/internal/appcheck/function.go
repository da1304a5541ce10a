package appcheck

import (
	"cmp"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
)

// A Function has the facts about a protected function that package infra knows and the app does
// not show.
type Function struct {
	Function  awslambda.IFunction
	Scope     constructs.Construct // by which users name it
	Timeout   time.Duration        // of an invocation, if the app does not have it
	Execution time.Duration        // of a durable function; 0 of any other
	Retention time.Duration

	// Expiry is the meaning of the end of Retention, and Advice what to do if it comes too early.
	Expiry, Advice string
	// Variables lead the function to its store.
	Variables map[string]*string
	// Table has the records, or is nil. SortKey and Swept are what is declared of it.
	Table   awsdynamodb.ITable
	SortKey string
	Swept   bool

	// Alarmed are the keys of the sources that have alarms; nil for a function without any.
	Alarmed map[string]bool
	// Sources returns the keys of those that need alarms.
	Sources func(*App) []string
}

const (
	day = 24 * time.Hour

	// MaxEventAge is the time for which Lambda retries an asynchronous event, its default and
	// maximum.
	MaxEventAge = 6 * time.Hour

	maxMappingTime = 15 * time.Minute // for which a mapping of a queue or a stream waits for a whole execution
	maxBrokerTime  = 14 * time.Minute // the maximum timeout of a function behind a broker, in the guide of Lambda
	maxHTTPTime    = 30 * time.Second // for which an HTTP API waits for its integration
	maxRESTTime    = 29 * time.Second // for which a REST API waits, unless its integration says otherwise
)

// Longest returns how long a source may wait for the function.
func (f *Function) Longest() time.Duration {
	timeout := f.Timeout
	if made, is := f.made(); is {
		timeout = cmp.Or(Declared(made.Timeout(), time.Second, 3*time.Second), timeout)
	}
	return max(timeout, f.Execution)
}

// made returns the resource of a function that the app creates.
func (f *Function) made() (made awslambda.CfnFunction, is bool) {
	made, is = Unqualified(f.Function).Node().DefaultChild().(awslambda.CfnFunction)
	return made, is
}

// Unqualified returns the function of an alias or a version, whose security group CDK does
// not tell.
func Unqualified(function awslambda.IFunction) awslambda.IFunction {
	switch qualified := function.(type) {
	case awslambda.IAlias:
		return qualified.Version().Lambda()
	case awslambda.IVersion:
		return qualified.Lambda()
	}
	return function
}

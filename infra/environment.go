package infra

import (
	"maps"
	"regexp"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
)

var variableName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]+$`)

// refuseEnvironment reports names that this package sets, and names that Lambda
// does not accept.
func refuseEnvironment(environment map[string]string, own ...string) problems {
	var found problems
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		switch {
		case slices.Contains(own, name):
			found.when(true, "Environment: %s is set by this construct", name)
		case slices.Contains(reserved(), name):
			found.when(true, "Environment: %s is reserved by Lambda, which sets it", name)
		case !variableName.MatchString(name):
			found.when(true, "Environment: %q is not a letter followed by at least one letter, digit or _", name)
		}
	}
	return found
}

// reserved returns the variables that only Lambda may set.
func reserved() []string {
	return []string{
		"AWS_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION", "AWS_EXECUTION_ENV", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
		"AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_VERSION", "AWS_LAMBDA_INITIALIZATION_TYPE", "AWS_LAMBDA_LOG_GROUP_NAME",
		"AWS_LAMBDA_LOG_STREAM_NAME", "AWS_LAMBDA_RUNTIME_API", "AWS_REGION", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
		"LAMBDA_RUNTIME_DIR", "LAMBDA_TASK_ROOT", "_HANDLER", "_X_AMZN_TRACE_ID",
	}
}

func refuseLogRetention(name string, retention awslogs.RetentionDays) problems {
	var found problems
	found.when(!slices.Contains(logRetentions(), retention), "%s: %q is none of awslogs.RetentionDays", name, retention)
	return found
}

func logRetentions() []awslogs.RetentionDays {
	return []awslogs.RetentionDays{
		awslogs.RetentionDays_ONE_DAY, awslogs.RetentionDays_THREE_DAYS, awslogs.RetentionDays_FIVE_DAYS,
		awslogs.RetentionDays_ONE_WEEK, awslogs.RetentionDays_TWO_WEEKS,
		awslogs.RetentionDays_ONE_MONTH, awslogs.RetentionDays_TWO_MONTHS, awslogs.RetentionDays_THREE_MONTHS,
		awslogs.RetentionDays_FOUR_MONTHS, awslogs.RetentionDays_FIVE_MONTHS, awslogs.RetentionDays_SIX_MONTHS,
		awslogs.RetentionDays_ONE_YEAR, awslogs.RetentionDays_THIRTEEN_MONTHS, awslogs.RetentionDays_EIGHTEEN_MONTHS,
		awslogs.RetentionDays_TWO_YEARS, awslogs.RetentionDays_THREE_YEARS, awslogs.RetentionDays_FIVE_YEARS,
		awslogs.RetentionDays_SIX_YEARS, awslogs.RetentionDays_SEVEN_YEARS, awslogs.RetentionDays_EIGHT_YEARS,
		awslogs.RetentionDays_NINE_YEARS, awslogs.RetentionDays_TEN_YEARS, awslogs.RetentionDays_INFINITE,
	}
}

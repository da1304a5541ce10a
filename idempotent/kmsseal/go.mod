module github.com/lambda-once/once/idempotent/kmsseal

go 1.26

replace github.com/lambda-once/once => ../..

require (
	github.com/aws/aws-sdk-go-v2 v1.47.6
	github.com/aws/aws-sdk-go-v2/service/kms v1.55.0
	github.com/lambda-once/once v0.0.0
)

require (
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.5.9 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.8.9 // indirect
	github.com/aws/smithy-go v1.28.8 // indirect
	github.com/jmespath-community/go-jmespath v1.1.1 // indirect
	golang.org/x/exp v0.0.0-20230314191032-db074128a8ec // indirect
)

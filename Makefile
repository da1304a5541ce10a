# What each command does is in README.md. CI runs "make test".

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
# One DynamoDB Local for all that runs behind it.
WITH_DYNAMODB = go run ./local/cmd/dynamodblocal --

.PHONY: demo test check mutants bench fuzz build synth

demo:
	@go run ./local/cmd/demo

test: check
	@echo "== tests of the library, against DynamoDB Local"
	@$(WITH_DYNAMODB) go test -race ./...
	@echo "== tests that the race detector would slow unevenly"
	@go test -count=1 -run '^TestDuplicateOverhead$$' ./idempotent
	@echo "== tests of the examples, compiled, against DynamoDB Local"
	@cd examples && go run ../local/cmd/dynamodblocal -- go test -race ./...

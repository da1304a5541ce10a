package infra

import "github.com/aws/aws-cdk-go/awscdk/v2/awsiam"

// GrantRedrive allows an operator to send messages of the dead-letter queue back to the
// queue, with the tasks of SQS that move messages. These are StartMessageMoveTask,
// ListMessageMoveTasks and CancelMessageMoveTask, which need ReceiveMessage,
// DeleteMessage and GetQueueAttributes on the dead-letter queue, and SendMessage on the
// queue. If a queue has a customer's key, the operator may use it. Do not grant it to
// functions.
//
// SQS moves messages only out of the dead-letter queues of queues, and not out of the
// failure queues that [IdempotentFunction.AddTopic] and [IdempotentFunction.AddStream]
// return.
//
// GrantRedrive panics with a [*PropsError] if grantee is nil, or if the dead-letter
// queue is unknown.
func (q *Queue) GrantRedrive(grantee awsiam.IGrantable) awsiam.Grant {
	var found problems
	found.when(grantee == nil, "grantee: it is required")
	found.when(q.DeadLetters == nil, "DeadLetters: the dead-letter queue is unknown; declare it")
	found.panic(q.Queue, "")
	grant := allow(grantee, []*string{q.DeadLetters.QueueArn()}, nil,
		"sqs:CancelMessageMoveTask", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ListMessageMoveTasks", "sqs:ReceiveMessage", "sqs:StartMessageMoveTask")
	grant = grant.Combine(allow(grantee, []*string{q.Queue.QueueArn()}, nil, "sqs:SendMessage"))
	if key := q.DeadLetters.EncryptionMasterKey(); key != nil {
		grant = grant.Combine(allow(grantee, []*string{key.KeyArn()}, nil, "kms:Decrypt"))
	}
	if key := q.Queue.EncryptionMasterKey(); key != nil {
		grant = grant.Combine(allow(grantee, []*string{key.KeyArn()}, nil, "kms:Decrypt", "kms:GenerateDataKey"))
	}
	return grant
}

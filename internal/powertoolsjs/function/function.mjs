// The counterpart of examples/shared.
import { makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { run } from './runtime.mjs';
import { options, work } from './work.mjs';

await run(makeIdempotent(work, options));

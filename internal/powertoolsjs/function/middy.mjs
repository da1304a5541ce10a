// The same work below the middleware for Middy.
import { makeHandlerIdempotent } from '@aws-lambda-powertools/idempotency/middleware';
import middy from '@middy/core';
import { run } from './runtime.mjs';
import { options, work } from './work.mjs';

await run(middy(work).use(makeHandlerIdempotent(options)));

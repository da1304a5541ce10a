// Lambda's runtime API, as a custom runtime speaks it.
const api = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime`;

async function post(path, body) {
  const response = await fetch(`${api}/${path}`, { method: 'POST', body: JSON.stringify(body) });
  await response.arrayBuffer();
}

// run passes invocations to the handler, one after the other.
export async function run(handler) {
  for (;;) {
    const next = await fetch(`${api}/invocation/next`);
    const id = next.headers.get('lambda-runtime-aws-request-id');
    const deadline = Number(next.headers.get('lambda-runtime-deadline-ms'));
    const context = { awsRequestId: id, getRemainingTimeInMillis: () => deadline - Date.now() };
    const event = await next.json();
    try {
      await post(`invocation/${id}/response`, (await handler(event, context)) ?? null);
    } catch (error) {
      await post(`invocation/${id}/error`, { errorType: error.name, errorMessage: error.message });
    }
  }
}

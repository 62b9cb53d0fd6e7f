/** The server as a Lambda function whose answers stream. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LambdaFunction } from '../support/lambda-function.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const question = { messages: [{ role: 'user', content: 'What is 23 + 45?' }], temperature: 0 };

let cache: Awaited<ReturnType<typeof temporaryCache>>;
let lambda: LambdaFunction;

beforeAll(async () => {
  cache = await temporaryCache();
  lambda = new LambdaFunction('dist/lambda/handler.js', cache.env);
});
afterAll(async () => {
  await lambda?.stop();
  await cache?.remove();
});

it('streams a chat, piece by piece', async () => {
  // Long enough that a busy machine does not write it all at once.
  const long = { ...question, stream: true, ignore_eos: true, max_tokens: 200 };
  const answer = await lambda.post('/v1/chat/completions', long);
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toContain('text/event-stream');
  expect(answer.headers).not.toHaveProperty('transfer-encoding');
  expect(answer.chunks.length).toBeGreaterThan(3);
  const deltas = [...answer.chunks.join('').matchAll(/"content":"([^"]*)"/g)];
  expect(deltas.map(([, text]) => text).join('')).toMatch(/^23 \+ 45 = 68\./);
});

it('answers whole, answers queries, and has errors keep their status', async () => {
  const whole = await lambda.post('/v1/chat/completions', question);
  expect(JSON.parse(whole.chunks.join(''))).toMatchObject({
    choices: [{ message: { content: '23 + 45 = 68.' } }],
  });
  const models = await lambda.send({ method: 'GET', path: '/v1/models?limit=1' });
  expect(JSON.parse(models.chunks.join(''))).toMatchObject({ data: [{ id: 'summit' }] });
  expect((await lambda.post('/v1/chat/completions', {})).statusCode).toBe(400);
});

it('sends an answer that has no body', async () => {
  const answer = await lambda.send({ method: 'HEAD', path: '/health' });
  expect(answer).toMatchObject({ statusCode: 200, chunks: [] });
});

it('takes nobody who comes from elsewhere for the operator', async () => {
  const answer = await lambda.send({ method: 'GET', path: '/admin/state' });
  expect(answer.statusCode).toBe(403);
});

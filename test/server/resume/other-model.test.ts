/** Whoever has another model under the same name. */
import { expect, test } from 'vitest';
import { errorOf, post } from '../support/client.ts';
import { knownAfter, streamOf } from '../support/resumed.ts';
import { says, useServers } from '../support/test-server.ts';

const server = useServers();
const resumeKey = 'a secret of all replicas';
const body = { prompt: 'Hi', stream: true, max_tokens: 20 };

test('does not go on with an answer of other weights, and says why', async () => {
  const options = { resumeKey, script: says('Hello there!') };
  const first = await server({ ...options, contentId: 'one' });
  const second = await server({ ...options, contentId: 'another' });
  const whole = await streamOf(await post(first, '/v1/completions', body));
  const { resume } = knownAfter(whole, 5);
  const refused = await post(second, '/v1/completions', { ...body, resume });
  const error = await errorOf(refused, 409);
  expect(error.code).toBe('cannot_resume');
  expect(error.message).toContain('other weights');
  await streamOf(await post(first, '/v1/completions', { ...body, resume }));
});

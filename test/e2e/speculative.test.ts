import { afterAll, describe, expect, it } from 'vitest';
import { metric, stream } from '../support/http-client.ts';
import { orLong } from '../support/long-runs.ts';
import { LINUX, needs } from '../support/needs.ts';
import { childrenOf } from '../support/processes.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const MAX_TOKENS = orLong(160, 300);
const story = { messages: [{ role: 'user', content: 'Tell me a story about the number 7.' }] };
const people = {
  type: 'array',
  items: {
    type: 'object',
    properties: { first_name: { type: 'string', maxLength: 12 }, pet: { enum: ['cat', 'dog'] } },
    required: ['first_name', 'pet'],
  },
  minItems: 40,
};
const requests = [
  { ...story, max_tokens: MAX_TOKENS, ignore_eos: true, temperature: 0 },
  { ...story, max_tokens: MAX_TOKENS, ignore_eos: true, temperature: 0.9, seed: 5 },
  {
    messages: [{ role: 'user', content: 'As JSON: Ada has a cat, Emil has a dog.' }],
    response_format: { type: 'json_schema', json_schema: { name: 'people', schema: people } },
    max_tokens: 300,
    temperature: 0.9,
    seed: 5,
  },
];

/** @param disturb called once in each text, when it has begun */
async function tell(server: ServerProcess, disturb: () => void = () => {}) {
  const texts: string[] = [];
  for (const request of requests) {
    let [length, hasBegun] = [0, false];
    const result = await stream(`${server.url}/v1/chat/completions`, request, (text) => {
      length += text.length;
      if (length < 40 || hasBegun) return;
      hasBegun = true;
      disturb();
    });
    expect(result).toMatchObject({ finishReason: 'length', done: true, error: undefined });
    texts.push(result.text);
  }
  return texts;
}

const plain = await startServer(['--speculative', 'off'], cache.env);
const expected = await tell(plain);
await plain.stop();

const ways: [string, string[]][] = [
  ['by default', []],
  ['with a draft model', ['--draft-model', 'models/foothill']],
  ['with a durable KV cache', ['--durable-kv']],
];

describe.each(ways)('one stream, speculated %s', (_, flags) => {
  const options = flags.includes('--durable-kv') ? needs(LINUX) : {};
  it('gets the same text as without, through kills too', options, async () => {
    const server = await startServer(flags, cache.env);
    const killed = new Set<number>();
    const disturbed = await tell(server, () => {
      const [pid] = childrenOf(server.child.pid);
      if (pid === undefined) return;
      killed.add(pid);
      process.kill(pid, 'SIGKILL');
    });
    expect(killed.size).toBe(requests.length);
    expect(disturbed).toEqual(expected);

    expect(await tell(server)).toEqual(expected);
    const drafts = await metric(server.url, 'chairlift_spec_decode_num_drafts_total');
    const draftTokens = await metric(server.url, 'chairlift_spec_decode_num_draft_tokens_total');
    const accepted = await metric(server.url, 'chairlift_spec_decode_num_accepted_tokens_total');
    expect(drafts).toBeGreaterThan(0);
    expect(draftTokens).toBeGreaterThanOrEqual(drafts);
    expect(accepted).toBeLessThanOrEqual(draftTokens);
    const text = await (await fetch(`${server.url}/metrics`)).text();
    expect(text).toMatch(/num_accepted_tokens_total\{[^}]*source="grammar"[^}]*\} [1-9]/);
    await server.stop();
  });
});

/** llama-server's samplers, from the fields of a body to what the engine gets. */
import { describe, expect, it } from 'vitest';
import { post } from './support/client.ts';
import { useServers } from './support/test-server.ts';

const server = useServers();
const PATH = '/v1/completions';

/** A text is within the token of its length, and within token 5. */
function tokensWith(text: string): Int32Array {
  return Int32Array.from(text === 'none' ? [] : [text.length, 5]);
}

async function extraOf(fields: object) {
  const target = await server({ tokensWith });
  const response = await post(target, PATH, { prompt: 'Hi', max_tokens: 1, ...fields });
  expect(response.status).toBe(200);
  return target.engine.requests.at(-1)?.sampling.extra;
}

describe('extra samplers', () => {
  it('are left out where none is on', async () => {
    const off = {
      typical_p: 1,
      top_n_sigma: -1,
      xtc_probability: 0,
      xtc_threshold: 0.2,
      dynatemp_range: 0,
      dry_multiplier: 0,
      dry_base: 2,
    };
    expect(await extraOf(off)).toBeUndefined();
    expect(await extraOf({ dry_multiplier: 1, dry_penalty_last_n: 0 })).toBeUndefined();
  });

  it('have the defaults of llama.cpp', async () => {
    const fields = { xtc_probability: 0.5, dry_multiplier: 0.8, dynatemp_range: 0.3 };
    expect(await extraOf(fields)).toEqual({
      xtc: { probability: 0.5, threshold: 0.1 },
      dynamic: { range: 0.3, exponent: 1 },
      dry: {
        multiplier: 0.8,
        base: 1.75,
        allowedLength: 2,
        lastTokens: -1,
        breakers: Int32Array.of(1, 5),
      },
    });
  });

  it('take what the body says', async () => {
    const fields = {
      typical_p: 0.9,
      top_n_sigma: 1.5,
      xtc_probability: 1,
      xtc_threshold: 0.3,
      dry_multiplier: 2,
      dry_base: 1.1,
      dry_allowed_length: 4,
      dry_penalty_last_n: 64,
      dry_sequence_breakers: ['ab', 'abc'],
    };
    expect(await extraOf(fields)).toEqual({
      typicalP: 0.9,
      topNSigma: 1.5,
      xtc: { probability: 1, threshold: 0.3 },
      dry: {
        multiplier: 2,
        base: 1.1,
        allowedLength: 4,
        lastTokens: 64,
        breakers: Int32Array.of(2, 3, 5),
      },
    });
  });

  it.each([
    { fields: { typical_p: 0 }, param: 'typical_p' },
    { fields: { xtc_probability: 1.1 }, param: 'xtc_probability' },
    { fields: { dry_base: 0.5 }, param: 'dry_base' },
    { fields: { dry_allowed_length: 0 }, param: 'dry_allowed_length' },
    { fields: { dry_sequence_breakers: [''] }, param: 'dry_sequence_breakers.0' },
    {
      fields: { dry_sequence_breakers: Array.from({ length: 17 }, () => 'a') },
      param: 'dry_sequence_breakers',
    },
    {
      fields: { dry_multiplier: 1, dry_sequence_breakers: ['a', 'none'] },
      param: 'dry_sequence_breakers.1',
    },
    { fields: { mirostat: 2 }, param: 'mirostat' },
  ])('are refused with $param', async ({ fields, param }) => {
    const target = await server({ tokensWith });
    const response = await post(target, PATH, { prompt: 'Hi', ...fields });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param } });
  });

  it.each(['typical_p', 'top_n_sigma', 'xtc_probability', 'dry_multiplier', 'dynatemp_range'])(
    '/v1/responses refuses %s, which it does not have',
    async (param) => {
      const target = await server();
      const response = await post(target, '/v1/responses', { input: 'Hi', [param]: 0.5 });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { param } });
    },
  );
});

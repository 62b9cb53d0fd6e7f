import { describe, expect, test } from 'vitest';
import { adviceOf } from '../../../src/cli/profile/advice.ts';
import { breakDown } from '../../../src/cli/profile/breakdown.ts';
import { profileText } from '../../../src/cli/profile/report.ts';
import { parseTiming, type Sample, takeSample } from '../../../src/cli/profile/sample.ts';
import { ServerClient } from '../../../src/cli/server/server-client.ts';
import { babbles, useServers } from '../../server/support/test-server.ts';

const server = useServers();

const clientOf = ({ url }: { readonly url: string }) =>
  new ServerClient({ url: new URL(url), isGiven: true, apiKey: null });

/** One of 100 ms at the client and 90 ms in the server, of which some are given to stages. */
function sample(stages: Record<string, number>, clientMs = 100, serverMs = 90): Sample {
  const stagesMs = new Map(Object.entries(stages));
  return { clientMs, serverMs, stagesMs, promptTokens: 128, cachedTokens: 16, outputTokens: 11 };
}

describe('a sample', () => {
  test('has what the server says of its stages, and the tokens', async () => {
    const target = await server({ script: babbles, engine: { delayMs: 3, numCachedTokens: 2 } });
    const body = {
      prompt: 'Hello',
      max_tokens: 10,
      stream: true,
      stream_options: { include_usage: true },
    };
    const taken = await takeSample(clientOf(target), 'v1/completions', body);
    expect(taken).toMatchObject({ promptTokens: 5, cachedTokens: 2, outputTokens: 10 });
    expect([...taken.stagesMs.keys()]).toEqual([
      'receive',
      'tokenize',
      'queue',
      'prefill',
      'decode',
      'detokenize',
      'send',
    ]);
    expect(taken.stagesMs.get('decode')).toBeGreaterThan(20);
    expect(taken.clientMs).toBeGreaterThanOrEqual(taken.serverMs);
  });

  test('of a server that fails or refuses says why', async () => {
    const target = await server({
      script: function* () {
        yield 1;
        throw new Error('no');
      },
    });
    const take = (body: object) => takeSample(clientOf(target), 'v1/completions', body);
    await expect(take({ prompt: 'Hi', stream: true })).rejects.toThrow(/the server failed: /);
    await expect(take({ prompt: 'Hi', n: 0 })).rejects.toThrow(/answered 400/);
    // An answer in one piece has no last comment.
    const whole = await server();
    await expect(takeSample(clientOf(whole), 'v1/completions', { prompt: 'Hi' })).rejects.toThrow(
      /does not report where its time goes/,
    );
  });

  test('reads a header', () => {
    expect([...parseTiming('queue;dur=1.50, total;dur=20.00')]).toEqual([
      ['queue', 1.5],
      ['total', 20],
    ]);
  });
});

describe('a breakdown', () => {
  test('accounts for all of the time', () => {
    const { parts, clientMs } = breakDown([
      sample({ receive: 1, tokenize: 2, queue: 3, prefill: 30, decode: 50, detokenize: 1 }),
      sample({ receive: 3, tokenize: 2, queue: 3, prefill: 30, decode: 40 }, 120, 100),
    ]);
    expect(clientMs).toBe(110);
    expect(parts.map(({ name, meanMs }) => [name, meanMs])).toEqual([
      ['network', 15],
      ['receive', 2],
      ['tokenize', 2],
      ['queue', 3],
      ['prefill', 30],
      ['decode', 45],
      ['send', 0],
      ['other', 13],
    ]);
    expect(parts.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
  });

  test('is a table and bars, as long as the times', () => {
    const breakdown = breakDown([sample({ receive: 5, prefill: 25, decode: 50, detokenize: 25 })]);
    const text = profileText(breakdown, ['do this']);
    expect(text).toMatch(
      /^decode +50\.00 ms +50\.00 ms +50\.00 ms +50\.0 %\n {2}detokenize +25\.00 ms/m,
    );
    expect(text).toContain('128 prompt tokens (16 cached), 11 output tokens, 100.0 ms on average');
    expect(text).toMatch(/^stages {3}r{3}p{16}d{32}o{7}$/m);
    expect(text).toMatch(/^ {9} {19}▒{16}$/m);
    expect(text.endsWith('What to change next:\n- do this')).toBe(true);
  });
});

describe('advice', () => {
  const advised = (stages: Record<string, number>, concurrency = 1, clientMs = 100) =>
    adviceOf(breakDown([sample(stages, clientMs)]), concurrency);

  test.each([
    ['queue', { queue: 40 }, /^40 % queue: .*others hold all of them/],
    [
      'prefill',
      { prefill: 60 },
      /^60 % prefill: Prompts are 128 tokens, and 16 of them were cached/,
    ],
    ['decode', { decode: 80 }, /^80 % decode: .*, 8\.0 ms each/],
    ['tokenize', { tokenize: 20 }, /^20 % tokenize: .*--tokenizer-pool-size/],
    ['receive', { receive: 20 }, /^20 % receive: .*Bodies/],
    ['the front', { detokenize: 15, send: 10, prefill: 80 }, /detokenize, send, other: .*CPU/],
  ])('is about what takes long: %s', (_, stages, expected) => {
    expect(advised(stages).some((line) => expected.test(line))).toBe(true);
  });

  test('knows whose the queue is', () => {
    expect(advised({ queue: 60 }, 8)[0]).toMatch(/--max-num-seqs .*--instances/);
  });

  test('begins with what takes longest, and leaves out what takes little', () => {
    const found = advised({ queue: 11, decode: 70, prefill: 5 });
    expect(found.map((line) => line.split(' ')[2])).toEqual(['decode:', 'queue:']);
    expect(advised({ receive: 85 / 10 })).toHaveLength(1);
  });

  test('is about the network if time passes outside of the server', () => {
    expect(advised({ decode: 90 }, 1, 200)[0]).toMatch(/^55 % network/);
  });

  test('says so if nothing stands out', () => {
    const even = { receive: 9, tokenize: 9, queue: 9, prefill: 20, decode: 43 };
    expect(advised(even)).toEqual(['Nothing stands out.']);
  });
});

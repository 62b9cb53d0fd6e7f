/**
 * Two keys on one server, each at ordinary work and after the other's responses, items and cached
 * prompts, one with eight times as many requests at once: no leaks, and fair shares of the tokens.
 *
 * CHAIRLIFT_TWO_KEYS_SECONDS is for how long, 20 if not set.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { KEYS } from './support/attack.ts';
import { clientsOf } from './support/clients.ts';
import { belongingsOf, traffic } from './support/mixed-traffic.ts';

const SECONDS = Number(process.env['CHAIRLIFT_TWO_KEYS_SECONDS'] ?? 20);
/**
 * Each has more than there are rows, so that both always wait: what they get is what is shared out.
 * The many are more than the queue takes.
 */
const LANES = { few: 8, many: 64 };
const FLAGS = ['--threads=1', '--max-num-seqs=4', '--max-queue=32'];

let server: ServerProcess;
let remove: () => Promise<void>;

// A try finds nothing of the one before.
beforeEach(async () => {
  const cache = await temporaryCache();
  remove = cache.remove;
  const keys = `--api-key=${Object.values(KEYS).join(',')}`;
  server = await startServer([...FLAGS, keys], cache.env);
});

afterEach(async () => {
  await server.stop();
  await remove();
});

it('keeps two keys apart, and shares out the tokens fairly', async () => {
  const { attacker, victim } = clientsOf(server.url, true);
  const [a, b] = [belongingsOf('anna'), belongingsOf('bert')];
  const signal = AbortSignal.timeout(SECONDS * 1000);
  const [anna, bert] = await Promise.all([
    traffic(victim, 'anna', a, b, LANES.few, signal),
    traffic(attacker, 'bert', b, a, LANES.many, signal),
  ]);
  const share = anna.tokens / (anna.tokens + bert.tokens);
  for (const [name, tally] of Object.entries({ anna, bert })) {
    const { tokens, served, refused, looks, leaks } = tally;
    console.log(
      `${name}: ${tokens} tokens in ${served} answers, ${refused} refused; looked ${looks} times, ${leaks.length} leaks ${leaks.join('; ')}`,
    );
  }
  expect(anna.looks + bert.looks).toBeGreaterThan(10);
  expect({ anna: anna.leaks, bert: bert.leaks }).toEqual({ anna: [], bert: [] });
  expect(anna.refused).toBe(0);
  expect(share).toBeGreaterThan(0.4);
  expect(share).toBeLessThan(0.6);
});

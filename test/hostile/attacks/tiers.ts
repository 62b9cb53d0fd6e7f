/** Classes that requests ask for and may not have. */
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const PATH = '/v1/completions';
const flood = { prompt: 'Once upon a time', ignore_eos: true };

/**
 * Many at once, each of which says that it is first. Of lengths all different: otherwise all slots become free at
 * the same time, and how long a victim waits says when it came, not who comes first.
 */
async function floodWith(client: Client, fields: object): Promise<void> {
  const signal = AbortSignal.timeout(8000);
  const asked = Array.from({ length: 300 }, (_, index) =>
    client.try(PATH, {
      body: { ...flood, max_tokens: 20 + ((index * 37) % 280), ...fields },
      signal,
    }),
  );
  await Promise.all(asked);
}

export const attacks: readonly Attack[] = [
  {
    name: '300 requests that ask for the best class with a key that may not',
    hasKeys: true,
    maxWaitMs: 2500,
    run: ({ attacker }) => floodWith(attacker, { service_tier: 'ultra-low' }),
  },
  {
    name: '300 requests of the best priority, of a key of the same class',
    flags: ['--priority-range=0,0'],
    hasKeys: true,
    maxWaitMs: 2500,
    run: ({ attacker }) => floodWith(attacker, { priority: -1_000_000 }),
  },
  {
    name: 'what the class is called tells nothing that was not asked for',
    hasKeys: true,
    async run({ attacker }) {
      const breaches: string[] = [];
      const body = { prompt: 'Hi', max_tokens: 1 };
      for (const tier of ['ultra-low', 'interactive', 'priority', '__proto__', 'constructor']) {
        const { status, text } = await attacker.send(PATH, {
          body: { ...body, service_tier: tier },
        });
        const got = /"service_tier":"([^"]*)"/.exec(text)?.[1];
        if (status === 200 && got !== 'standard' && got !== 'default')
          breaches.push(`${tier}: ${got}`);
        if (status !== 200 && status !== 400) breaches.push(`${tier}: ${status}`);
      }
      const long = await attacker.send(PATH, {
        body: { ...body, service_tier: 'x'.repeat(100_000) },
      });
      if (long.status !== 400) breaches.push(`a name of 100,000 characters: ${long.status}`);
      return breaches;
    },
  },
];

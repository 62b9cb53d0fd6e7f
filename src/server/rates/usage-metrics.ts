import { Counter, type Registry } from 'prom-client';
import type { Usage, UsageEntry } from './usage.ts';

const TOKENS: readonly (readonly [kind: string, count: (entry: UsageEntry) => number])[] = [
  ['prompt', ({ promptTokens }) => promptTokens],
  ['output', ({ outputTokens }) => outputTokens],
];

/** By key and model; `client` is `none` on a server without keys. */
export function registerUsageMetrics(registry: Registry, usage: Usage): void {
  const registers = [registry];
  const requests: Counter<'client' | 'model_name' | 'cached'> = new Counter({
    name: 'chairlift_client_requests_total',
    help: 'Requests by key and model, and whether a stored answer was told.',
    labelNames: ['client', 'model_name', 'cached'],
    registers,
    collect() {
      requests.reset();
      for (const entry of usage.list()) {
        const { requests: all, cachedRequests } = entry;
        requests.inc({ ...labelsOf(entry), cached: 'true' }, cachedRequests);
        requests.inc({ ...labelsOf(entry), cached: 'false' }, all - cachedRequests);
      }
    },
  });
  const tokens: Counter<'client' | 'model_name' | 'kind'> = new Counter({
    name: 'chairlift_client_tokens_total',
    help: 'Tokens that were computed for a key, by model and kind.',
    labelNames: ['client', 'model_name', 'kind'],
    registers,
    collect() {
      tokens.reset();
      for (const entry of usage.list()) {
        for (const [kind, count] of TOKENS) tokens.inc({ ...labelsOf(entry), kind }, count(entry));
      }
    },
  });
}

function labelsOf({ client, model }: UsageEntry) {
  return { client: client === '' ? 'none' : client, model_name: model };
}

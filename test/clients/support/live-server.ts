/** A server with the embedded model, as clients meet it. CHAIRLIFT_CONFORMANCE_URL names another. */
import { afterAll, beforeAll } from 'vitest';
import { startServer, type ServerProcess } from '../../support/server-process.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

export const MODEL = 'summit';

/** Function that the model was trained to call. */
export const WEATHER = {
  name: 'get_weather',
  description: 'Get the weather in a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', description: 'The name of the city' } },
    required: ['city'],
    additionalProperties: false,
  },
} as const;

export const WEATHER_QUESTION = 'What is the weather in Paris?';
export const SUM_QUESTION = 'What is 23 + 45?';
export const PERSON_QUESTION =
  'Give me a JSON object with name and age for a person: Mia, who is 31 years old.';

/** @returns the server's address, once tests run */
export function useLiveServer(): () => string {
  const givenUrl = process.env['CHAIRLIFT_CONFORMANCE_URL'];
  let server: ServerProcess | undefined;
  let removeCache: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    if (givenUrl !== undefined) return;
    const cache = await temporaryCache();
    removeCache = () => cache.remove();
    server = await startServer([], cache.env);
  });
  afterAll(async () => {
    await server?.stop();
    await removeCache?.();
  });
  return () => givenUrl ?? server?.url ?? '';
}

/** Requests in the batch, as /metrics tells. */
export async function numRunning(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^chairlift_num_requests_running\S* (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}

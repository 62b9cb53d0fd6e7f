/** Real engine processes whose weights move into huge pages, and those that leave them mapped. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { EngineClient } from '../../../src/front/engine-process/engine-client.ts';
import { hugePageBytes } from '../../../src/ort/huge-pages.ts';
import { buildSummit, processOptions } from '../../support/crashing-engine.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { mappedBytes } from '../../support/mapped-bytes.ts';
import { HUGE_PAGES, needs } from '../../support/needs.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const pageBytes = hugePageBytes();
const cache = await temporaryCache();
afterAll(() => cache.remove());
const model = await buildSummit({ cacheDirectory: cache.path }, ['int8', 'int8', 'native']);
const weights = join(model.weightsFolder, 'decoder.onnx.data');
const options = processOptions(model);

async function textOf(client: EngineClient): Promise<number[]> {
  const promptTokenIds = Int32Array.from({ length: 200 }, (_, at) => 9 + ((at * 31) % 700));
  const tokens: number[] = [];
  const request = engineRequest({ promptTokenIds, maxTokens: 40 });
  for await (const { tokenIds } of client.generate(request, new AbortController().signal)) {
    tokens.push(...tokenIds);
  }
  return tokens;
}

test(
  'weights move while there is nothing to do, but not those of several processes, and texts are the same',
  needs(HUGE_PAGES),
  async () => {
    const [own, shared] = [new EngineClient(), new EngineClient()];
    await Promise.all([own.start(options), shared.start({ ...options, sharesWeights: true })]);
    // ONNX Runtime maps some of the file a second time, alike in both.
    const all = mappedBytes(shared.pid, weights);
    const moved = () => all - mappedBytes(own.pid, weights);
    await vi.waitFor(() => expect(moved()).toBeGreaterThan(0), 10_000);
    const texts = await Promise.all([textOf(own), textOf(shared)]);
    expect(texts[0]).toHaveLength(40);
    expect(texts[1]).toEqual(texts[0]);
    expect(moved() % (pageBytes ?? 1)).toBe(0);
    expect(mappedBytes(shared.pid, weights)).toBe(all);
    expect(all).toBeGreaterThan(statSync(weights).size);
    await Promise.all([own.stop(), shared.stop()]);
  },
);

/** Prompts with images as the front gives them to the engine, and the texts that Transformers makes of them. */
import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { EngineRequest, PromptEmbeddings } from '../../src/engine/request.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { type Arrival, MAX_SEQS, runCrashing } from './crashing-engine.ts';
import { idsOf } from './embedded-prompts.ts';
import { engineRequest } from './engine-requests.ts';
import { orLong } from './long-runs.ts';
import { visionReference } from './vision.ts';

export interface VisionRequest {
  readonly request: EngineRequest;
  readonly greedy: readonly number[];
}

/**
 * The prompts of a model's reference.
 * @param imageToken stands for each of an image's embeddings
 * @param facts told of an image besides its place and its rows
 */
export async function visionRequests(
  name: string,
  imageToken: number,
  facts: (
    image: { readonly rows: number; readonly columns: number; readonly placeholder: string },
    start: number,
  ) => { readonly numTokens: number } & Omit<PromptEmbeddings, 'start' | 'rows'>,
): Promise<VisionRequest[]> {
  const { images, prompts } = await visionReference(name);
  return Object.values(prompts).map(({ ids, images: files, greedy }, index) => {
    const promptTokenIds = Int32Array.from(ids);
    const embeddings = files.map((file): PromptEmbeddings => {
      const image = (files.length > 1 ? images[file]?.amongOthers : undefined) ?? images[file];
      if (image === undefined) throw new Error(`there is no image ${file}`);
      const start = promptTokenIds.indexOf(imageToken);
      const { numTokens, ...told } = facts(image, start);
      promptTokenIds.set(idsOf(image.embeddings, numTokens), start);
      return { start, rows: image.embeddings, ...told };
    });
    const { length: maxTokens } = greedy;
    const id = 1 + index;
    const request = engineRequest({ id, promptTokenIds, embeddings, maxTokens, logprobs: 3 });
    return { request, greedy };
  });
}

/** Each request gets its text, in any batch and in any chunks, after crashes. */
export function expectTextsAfterCrashes(
  model: BuiltModel,
  requests: readonly VisionRequest[],
): void {
  const arrivals = fc.tuple(fc.nat(6), fc.nat(6), fc.nat(6));
  const crashes = fc.uniqueArray(fc.integer({ min: 1, max: 20 }), { maxLength: 2 });
  const budget = fc.integer({ min: MAX_SEQS, max: 100 });
  expect(requests).toHaveLength(3);
  fc.assert(
    fc.property(arrivals, crashes, budget, (steps, lost, maxNumBatchedTokens) => {
      const all = requests.map(({ request }, at): Arrival => {
        return { atStep: steps[at] ?? 0, request };
      });
      const outputs = runCrashing(model, maxNumBatchedTokens, all, lost);
      for (const { request, greedy } of requests) {
        expect(outputs.get(request.id)?.map(({ tokenId }) => tokenId)).toEqual(greedy);
      }
    }),
    { numRuns: orLong(5, 100), endOnFailure: true },
  );
}

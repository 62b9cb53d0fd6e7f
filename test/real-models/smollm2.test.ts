/**
 * SmolLM2-135M-Instruct in GGUF Q4_1, against Transformers in float32 and llama.cpp's tokenizer on the
 * same file; see scripts/references/real_model.py and scripts/real-models.
 */
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import { argmax } from '../../src/engine/sampling/argmax.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { segmentOf } from '../../src/engine/step.ts';
import { loadTextModel, type TextModel } from '../../src/front/prompts/load-text-model.ts';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { ggufTextFolder } from '../../src/model/gguf/text/text-folder.ts';
import { engineRequest, READS_LOGITS } from '../support/engine-requests.ts';
import { needs } from '../support/needs.ts';
import { REAL_MODEL, REAL_MODEL_PATH } from '../support/real-model.ts';
import { tokenHashes } from '../support/token-hashes.ts';

const ids = z.array(z.int());
const reference = z
  .object({
    transformers: z.object({
      cases: z.array(
        z.object({
          prompt: z.string(),
          chat: z.string(),
          ids,
          greedy: ids,
          /** By how much the best logit is above the next. */
          margins: z.array(z.number()),
        }),
      ),
      text: z.string(),
      textIds: ids,
      perplexity: z.number(),
    }),
    llamaTokenHashes: z.array(z.string()),
  })
  .parse(
    JSON.parse(await readFile('test/fixtures/real-models/smollm2-135m-instruct-q4_1.json', 'utf8')),
  );
const { cases, text: prose, textIds, perplexity } = reference.transformers;

/** Logits after each run of tokens, all of them if asked for. */
class Reader {
  readonly #decoder: CpuDecoder;
  readonly #sequence = new Sequence(
    engineRequest({ promptTokenIds: new Int32Array(), sampling: READS_LOGITS }),
  );
  #length = 0;

  constructor(model: BuiltModel) {
    this.#decoder = new CpuDecoder(model, { numSlots: 1, maxModelLen: 512 });
    this.#sequence.slot = 0;
  }

  extend(tokenIds: readonly number[]): Float32Array {
    for (const tokenId of tokenIds) this.#sequence.append(tokenId);
    const start = this.#length;
    this.#length += tokenIds.length;
    const segments = [segmentOf(this.#sequence, tokenIds.length, start)];
    const [result] = this.#decoder.execute({ cacheOperations: [], segments }).logits;
    return result?.logits[0]?.slice() ?? new Float32Array();
  }

  release(): void {
    this.#decoder.release();
  }
}

function build(precision: 'fp32' | 'int8'): Promise<BuiltModel> {
  const source = { kind: 'folder', path: REAL_MODEL_PATH } as const;
  return prepareModel(source, { precision, cacheDirectory: defaultCacheDirectory() });
}

/** exp of the mean loss of each token after the first. */
function perplexityOf(model: BuiltModel): number {
  const reader = new Reader(model);
  let loss = 0;
  for (const [index, next] of textIds.slice(1).entries()) {
    const logits = reader.extend([textIds[index] ?? 0]);
    const most = logits.reduce((a, b) => Math.max(a, b));
    const sum = logits.reduce((all, logit) => all + Math.exp(logit - most), 0);
    loss += Math.log(sum) + most - (logits[next] ?? NaN);
  }
  reader.release();
  return Math.exp(loss / (textIds.length - 1));
}

describe('SmolLM2-135M-Instruct, GGUF Q4_1', needs(REAL_MODEL), () => {
  let text: TextModel;

  beforeAll(async () => {
    const folder = await ggufTextFolder(REAL_MODEL_PATH, defaultCacheDirectory());
    text = await loadTextModel({ folder, vocabSize: 49_152 });
  });

  it('makes the tokens of llama.cpp of 10,000 texts', () => {
    const hashes = tokenHashes((each) => text.tokenizer.encode(each, { addSpecialTokens: false }));
    expect(hashes).toEqual(reference.llamaTokenHashes);
  });

  it('renders chats, and makes tokens of them, as Transformers does', () => {
    for (const { prompt, chat, ids: expected } of cases) {
      const messages = [{ role: 'user', content: prompt }];
      const rendered = text.chatTemplate?.render(messages, { addGenerationPrompt: true });
      expect(rendered).toBe(chat);
      const encoded = text.tokenizer.encode(chat, { addSpecialTokens: false });
      expect([...encoded]).toEqual(expected);
    }
    const encoded = text.tokenizer.encode(prose, { addSpecialTokens: false });
    expect([...encoded]).toEqual(textIds);
  });

  it('continues 20 prompts in fp32 as Transformers does', async () => {
    const model = await build('fp32');
    let same = 0;
    for (const { prompt, ids: promptIds, greedy, margins } of cases) {
      const reader = new Reader(model);
      let logits = reader.extend(promptIds);
      const tokens: number[] = [];
      while (tokens.length < greedy.length) {
        tokens.push(argmax(logits));
        logits = reader.extend(tokens.slice(-1));
      }
      reader.release();
      const first = tokens.findIndex((token, index) => token !== greedy[index]);
      same += first === -1 ? tokens.length : first;
      if (first !== -1) console.log(`${prompt} differs at ${first}, margin ${margins[first]}`);
      // A tie may fall either way; texts go apart after it.
      expect(first === -1 ? 0 : (margins[first] ?? NaN), prompt).toBeLessThan(0.001);
    }
    console.log(`${same} of ${cases.length * 64} tokens before the first difference of each`);
  });

  it('has the perplexity of Transformers in fp32, and nearly in int8', async () => {
    const exact = perplexityOf(await build('fp32'));
    const rounded = perplexityOf(await build('int8'));
    console.log(`perplexity: Transformers ${perplexity}, fp32 ${exact}, int8 ${rounded}`);
    expect(Math.abs(exact / perplexity - 1)).toBeLessThan(1e-4);
    expect(Math.abs(rounded / perplexity - 1)).toBeLessThan(0.03);
  });
});

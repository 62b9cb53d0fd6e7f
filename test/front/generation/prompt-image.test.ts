/** Requests whose prompts have images in place of tokens. */
import { beforeAll, describe, expect, it } from 'vitest';
import { Admission, ShuttingDownError } from '../../../src/front/queue/admission.ts';
import { fitContext } from '../../../src/front/generation/fit-context.ts';
import type { GenerationRequest } from '../../../src/front/generation/generation.ts';
import { PLAIN_ANSWER } from '../../support/engine-requests.ts';
import type { ImageEmbedder, PromptImage } from '../../../src/front/generation/prompt-image.ts';
import { TextGenerator } from '../../../src/front/generation/text-generator.ts';
import { InvalidRequestError } from '../../../src/front/invalid-request.ts';
import { answerKey } from '../../../src/front/response-cache/answer-key.ts';
import { Detokenizer } from '../../../src/front/text/detokenizer.ts';
import { TextTokenizer } from '../../../src/front/text/tokenizer.ts';
import { chatCompletion } from '../../../src/server/openai/chat-response.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { metaspaceTokenizer } from '../../support/tokenizers.ts';

let tokenizer: TextTokenizer;
beforeAll(async () => {
  tokenizer = await TextTokenizer.load('models/summit');
});

const EMBEDDINGS = [{ start: 1, rows: new Float32Array(8).fill(0.5) }];
const IMAGES: readonly PromptImage[] = [
  { file: new Uint8Array(), inDetail: true, tiles: [{ start: 1, hash: 'a' }], tokensPerTile: 2 },
];

const SETTINGS = {
  ...PLAIN_ANSWER,
  images: IMAGES,
};

const request: GenerationRequest = {
  ...SETTINGS,
  promptTokenIds: Int32Array.of(1, -7, -8, 5),
  maxTokens: 4,
};

describe('the generator', () => {
  const setUp = (embeddingWidth: number | null) => {
    const engine = new FakeEngine(() => [5, 6], { info: { embeddingWidth } });
    const admission = new Admission({ concurrency: 1, maxQueue: 1 });
    const counts = { held: 0 };
    const vision: ImageEmbedder = {
      async embed(images, salt, { client }) {
        expect([images, salt, client]).toEqual([IMAGES, 'salt', 'a']);
        counts.held++;
        let isHeld = true;
        const release = (): void => {
          if (isHeld) counts.held--;
          isHeld = false;
        };
        return { embeddings: EMBEDDINGS, release };
      },
    };
    const parts = { engine, tokenizer, admission, vision, eosTokenIds: [] };
    const asked = { ...request, cacheSalt: 'salt', client: 'a' };
    const left = new AbortController();
    const deltas = new TextGenerator(parts).generate(asked, left.signal);
    return { engine, admission, counts, deltas, left };
  };

  it('has the engine get their embeddings, which are held until its end', async () => {
    const { engine, deltas, counts } = setUp(4);
    await deltas.next();
    expect(engine.requests).toMatchObject([{ embeddings: EMBEDDINGS }]);
    expect(counts.held).toBe(1);
    for await (const _ of deltas);
    expect(counts.held).toBe(0);
  });

  it('holds none of a request that is left, or refused by the queue', async () => {
    const gone = setUp(4);
    const first = gone.deltas.next();
    gone.left.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    expect(gone.counts.held).toBe(0);
    const full = setUp(4);
    full.admission.close();
    await expect(full.deltas.next()).rejects.toThrow(ShuttingDownError);
    expect(full.counts.held).toBe(0);
    expect([gone.engine.requests, full.engine.requests]).toEqual([[], []]);
  });

  it('refuses them where the model takes none, before the engine has any', async () => {
    const { engine, deltas } = setUp(null);
    await expect(deltas.next()).rejects.toThrow(InvalidRequestError);
    expect(engine.requests).toEqual([]);
  });
});

describe('the context', () => {
  const LIMITS = {
    maxTokens: 4,
    defaultMaxTokens: null,
    truncatePromptTokens: null,
    fields: { prompt: 'messages', maxTokens: 'max_tokens' },
  };
  const fit = (limits: object, settings: object = {}) =>
    fitContext(
      { ...SETTINGS, ...settings },
      request.promptTokenIds,
      { ...LIMITS, ...limits },
      { maxModelLen: 64 },
    );

  it('keeps them', () => {
    expect(fit({})).toMatchObject({ images: IMAGES, maxTokens: 4 });
    // Nothing is cut.
    expect(fit({ truncatePromptTokens: 4 })).toMatchObject({ images: IMAGES });
  });

  it('cuts no prompt with images', () => {
    expect(() => fit({ truncatePromptTokens: 3 })).toThrow(/cannot be cut/);
    expect(() => fit({ truncatePromptTokens: 3, truncationSide: 'right' })).toThrow(
      /cannot be cut/,
    );
    expect(fit({ truncatePromptTokens: 3 }, { images: undefined }).promptTokenIds).toHaveLength(3);
  });

  it('scores none', () => {
    expect(() => fit({}, { promptLogprobs: 0 })).toThrow(/no log-probabilities/);
    expect(fit({}, { promptLogprobs: 0, images: undefined }).promptLogprobs).toBe(0);
  });
});

it('has one answer for equal ids, without a look at the images', () => {
  const scope = { buildId: 'build', client: '' };
  const keyOf = (fields: Partial<GenerationRequest>) =>
    answerKey({ prompts: [{ ...request, ...fields }], numChoices: 1 }, scope);
  const others = IMAGES.map((image) => ({ ...image, file: Uint8Array.of(7) }));
  expect(keyOf({ images: others })).toBe(keyOf({}));
  expect(keyOf({ promptTokenIds: Int32Array.of(1, -7, -9, 5) })).not.toBe(keyOf({}));
});

it('is no text that an answer goes on with', () => {
  const own = metaspaceTokenizer();
  const textAfter = (...ids: number[]) => {
    const promptTokenIds = Int32Array.from(ids);
    const detokenizer = new Detokenizer(own, { skipSpecialTokens: true, promptTokenIds });
    return detokenizer.push(own.encode('word', { addSpecialTokens: false }));
  };
  expect(textAfter(-4, -5)).toBe(textAfter());
  expect(textAfter(-4, -5)).not.toBe(textAfter(...own.encode('a', { addSpecialTokens: false })));
});

it('is told to clients as -1', () => {
  const options = { returnTokenIds: true } as Parameters<typeof chatCompletion>[0]['options'];
  const format = {
    head: {},
    options,
    request: { prompts: [request], numChoices: 1 },
    n: 1,
    numPromptTop: null,
  } as unknown as Parameters<typeof chatCompletion>[0];
  const usage = {
    numPromptTokens: 4,
    numCachedTokens: 0,
    numImageTokens: 2,
    numOutputTokens: 0,
    numReasoningTokens: null,
  };
  expect(chatCompletion(format, { choices: [], usage })).toMatchObject({
    prompt_token_ids: [1, -1, -1, 5],
    usage: { prompt_tokens_details: { image_tokens: 2 } },
  });
});

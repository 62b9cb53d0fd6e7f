import { expect, test } from 'vitest';
import { fitContext } from '../../../src/front/generation/fit-context.ts';
import type { GenerationDefaults } from '../../../src/front/text/generation-config.ts';
import { SAMPLING_FLAGS } from '../../../src/settings/flags/sampling-flags.ts';
import { PLAIN_ANSWER } from '../../support/engine-requests.ts';

const settings = {
  ...PLAIN_ANSWER,
};

/** Length of an answer to 10 tokens, in a context of 100. */
const lengthOf = (
  samplingDefaults: Pick<GenerationDefaults, 'maxNewTokens' | 'mostNewTokens'>,
  asked: { maxTokens?: number; defaultMaxTokens?: number; truncate?: number } = {},
) =>
  fitContext(
    settings,
    new Int32Array(10),
    {
      maxTokens: asked.maxTokens ?? null,
      defaultMaxTokens: asked.defaultMaxTokens ?? null,
      truncatePromptTokens: asked.truncate ?? null,
      fields: { prompt: 'prompt', maxTokens: 'max_tokens' },
    },
    { maxModelLen: 100, samplingDefaults },
  );

// The rule of vLLM's get_max_tokens.
test("an answer whose length is left open has the model's", () => {
  expect(lengthOf({}).maxTokens).toBe(90);
  expect(lengthOf({ maxNewTokens: 20 }).maxTokens).toBe(20);
  expect(lengthOf({ maxNewTokens: 2048 }).maxTokens).toBe(90);
  expect(lengthOf({ maxNewTokens: 20 }, { maxTokens: 40 }).maxTokens).toBe(40);
  expect(lengthOf({ maxNewTokens: 20 }, { defaultMaxTokens: 16 }).maxTokens).toBe(16);
});

test("it has the operator's at most, whatever was asked for", () => {
  const config = '{"max_new_tokens": 20}';
  const operators = SAMPLING_FLAGS.overrideGenerationConfig.schema.parse(config) ?? {};
  expect(lengthOf(operators).maxTokens).toBe(20);
  expect(lengthOf(operators, { maxTokens: 40 }).maxTokens).toBe(20);
  expect(lengthOf(operators, { maxTokens: 4 }).maxTokens).toBe(4);
  expect(lengthOf({ ...operators, maxNewTokens: 30 }).maxTokens).toBe(20);
});

test("the model's length leaves a prompt whole that is to be cut as far as it does not fit", () => {
  expect(lengthOf({ maxNewTokens: 2048 }, { truncate: -1 }).promptTokenIds).toHaveLength(10);
});

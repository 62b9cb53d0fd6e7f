import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collectTargets, type TargetJob } from '../../src/distill/collect-targets.ts';
import { encodePromptLine, parsePromptLine } from '../../src/distill/prompt-line.ts';
import { EngineClient } from '../../src/front/engine-process/engine-client.ts';
import { GREEDY } from '../../src/front/generation/greedy-sampling.ts';
import { loadTextModel } from '../../src/front/prompts/load-text-model.ts';
import { builtModels } from '../support/built-models.ts';

const NEVER = new AbortController().signal;
const models = await builtModels();
const engine = new EngineClient();
const text = await loadTextModel({ folder: 'models/foothill', vocabSize: 4096 });

beforeAll(async () => {
  await engine.start({
    model: await models.get('foothill'),
    maxNumSeqs: 4,
    maxModelLen: 128,
    maxNumBatchedTokens: 64,
    threads: 1,
    kvCacheMemory: 2 ** 26,
    prefixCaching: true,
    targetItlMs: null,
  });
});
afterAll(async () => {
  await engine.stop();
  await models.remove();
});

const promptTokenIds = text.tokenizer.encode('The capital of', { addSpecialTokens: true });

function job(changes: Partial<TargetJob> = {}): TargetJob {
  return {
    line: 3,
    promptTokenIds,
    maxTokens: 6,
    stopTokenIds: [],
    sampling: GREEDY,
    numTop: 5,
    withPrompt: false,
    ...changes,
  };
}

/** Rows of token, then the likeliest ones. */
function rows(tables: Awaited<ReturnType<typeof collectTargets>>['tables']): number[][] {
  return tables.flatMap(({ tokenIds }) =>
    Array.from({ length: tokenIds.length / 6 }, (_, row) => [
      ...tokenIds.subarray(6 * row, 6 * row + 6),
    ]),
  );
}

describe('targets', () => {
  test('are of each generated token', async () => {
    const { line, tokens, numPrompt, first, tables } = await collectTargets(engine, job(), NEVER);
    expect([line, numPrompt, first]).toEqual([3, promptTokenIds.length, promptTokenIds.length]);
    expect(tokens).toHaveLength(promptTokenIds.length + 6);
    const generated = rows(tables);
    expect(generated.map(([token]) => token)).toEqual(tokens.slice(first));
    // Greedy: the likeliest is the one that is there.
    for (const [token, likeliest] of generated) expect(likeliest).toBe(token);
  });

  test('are of the prompt, too, where that is wanted, and of read texts alone', async () => {
    const both = await collectTargets(engine, job({ withPrompt: true }), NEVER);
    const read = await collectTargets(engine, job({ maxTokens: 0 }), NEVER);
    expect(both.first).toBe(1);
    expect(rows(both.tables)).toHaveLength(both.tokens.length - 1);
    expect(read.tokens).toEqual([...promptTokenIds]);
    expect(rows(read.tables)).toEqual(rows(both.tables).slice(0, promptTokenIds.length - 1));
  });

  test('are of the stop token, with which a text ends', async () => {
    const { tokens } = await collectTargets(engine, job(), NEVER);
    const third = tokens[promptTokenIds.length + 2] ?? 0;
    const stopped = await collectTargets(engine, job({ stopTokenIds: [third] }), NEVER);
    const end = tokens.indexOf(third, promptTokenIds.length) + 1;
    expect(stopped.tokens).toEqual(tokens.slice(0, end));
    expect(rows(stopped.tables)).toHaveLength(end - promptTokenIds.length);
  });

  test('are the same of texts that run beside others', async () => {
    const alone = await collectTargets(engine, job(), NEVER);
    const beside = await Promise.all(
      [0, 1, 2].map((line) => collectTargets(engine, job({ line }), NEVER)),
    );
    for (const { tokens } of beside) expect(tokens).toEqual(alone.tokens);
  });
});

describe('lines of prompts', () => {
  test('are prompts, chats and texts', () => {
    const encode = (line: object) =>
      text.tokenizer.decode(
        [...encodePromptLine(parsePromptLine(JSON.stringify(line), 'x'), text, 'x')],
        { skipSpecialTokens: false },
      );
    expect(encode({ prompt: 'As it is' })).toBe('As it is');
    expect(encode({ text: 'Read', max_tokens: 3 })).toBe('Read');
    expect(encode({ messages: [{ role: 'user', content: 'Hi' }] })).toBe(
      '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
    );
  });

  test.each([
    ['{"prompt": "a", "text": "b"}', /expected one of/],
    ['{}', /expected one of/],
    ['{"prompt": ""}', /origin, text 7/],
    ['{"prompt": "a", "max_tokens": 0}', /max_tokens/],
    ['{"prompt": "a", "top_p": 1}', /top_p/],
    ['no', /is not JSON/],
  ])('%s is refused', (line, message) => {
    expect(() => parsePromptLine(line, 'origin, text 7')).toThrow(message);
  });

  test('a chat needs a template', () => {
    const line = parsePromptLine('{"messages": [{"role": "user", "content": "Hi"}]}', 'x');
    const model = { ...text, chatTemplate: null };
    expect(() => encodePromptLine(line, model, 'x')).toThrow(/no chat template/);
  });
});

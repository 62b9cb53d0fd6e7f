import { afterAll, describe, expect, test } from 'vitest';
import { readEvalFile } from '../../src/eval/eval-file.ts';
import { encodeData, evaluateModel } from '../../src/eval/evaluate-model.ts';
import { reportTable } from '../../src/eval/report.ts';
import { ChatTemplate } from '../../src/front/templates/chat-template.ts';
import { TextTokenizer } from '../../src/front/text/tokenizer.ts';
import { builtModels } from '../support/built-models.ts';

const models = await builtModels();
afterAll(() => models.remove());

const tokenizer = await TextTokenizer.load('models/summit');
const chatTemplate = await ChatTemplate.load('models/summit');
const text = { tokenizer, chatTemplate, maxModelLen: 2048 };

describe('encoding', () => {
  const question = { task: 't', prompt: 'Hi', answer: 'Hi', check: 'text', max_tokens: 8 } as const;

  test('long texts are cut into windows, and what cannot be predicted is left out', () => {
    const long = 'one two three four five '.repeat(600);
    const { texts, maxModelLen } = encodeData({ texts: [long, ''], questions: [] }, text);
    const lengths = texts.map((tokenIds) => tokenIds.length);
    const whole = tokenizer.encode(long, { addSpecialTokens: true });
    expect(lengths.slice(0, -1).every((length) => length === 1024)).toBe(true);
    expect(texts.map((tokenIds) => tokenIds.join(' ')).join(' ')).toBe(whole.join(' '));
    expect(maxModelLen).toBe(1024);
  });

  test('questions go through the chat template', () => {
    const { prompts } = encodeData({ texts: [], questions: [question] }, text);
    const chat = '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n';
    const tokenIds = tokenizer.encode(chat, { addSpecialTokens: false });
    expect(prompts).toEqual([{ tokenIds, maxTokens: 8 }]);
  });

  test('questions that cannot be asked are refused', () => {
    const data = { texts: [], questions: [question] };
    expect(() => encodeData(data, { ...text, chatTemplate: null })).toThrow(/chat template/);
    expect(() => encodeData(data, { ...text, maxModelLen: 16 })).toThrow(/takes at most 16/);
  });
});

test("summit's report shows what its model card says", async () => {
  const { texts, questions } = await readEvalFile('models/summit/eval.jsonl');
  const data = encodeData(
    {
      texts: texts.slice(0, 8),
      questions: [
        ...questions.filter(({ task }) => task === 'multiplication_table').slice(0, 40),
        { task: 'wrong', prompt: 'Hello!', answer: 'no', check: 'text', max_tokens: 16 },
      ],
    },
    text,
  );
  const progress: number[] = [];
  const limits = { maxNumSeqs: 4, threads: 1 };
  const report = await evaluateModel(await models.get('summit'), data, text, limits, (done) =>
    progress.push(done),
  );
  expect(report.tasks).toEqual([
    { task: 'multiplication_table', correct: 40, cases: 40 },
    { task: 'wrong', correct: 0, cases: 1 },
  ]);
  expect(report.numScoredTokens).toBe(data.texts.reduce((sum, { length }) => sum + length - 1, 0));
  // 1.72 over all 400 texts.
  expect(report.perplexity).toBeGreaterThan(1.3);
  expect(report.perplexity).toBeLessThan(2.3);
  expect(report.batchSize).toBe(4);
  expect(progress).toEqual(Array.from({ length: 49 }, (_, i) => i + 1));

  const table = reportTable([report, { ...report, precision: 'int8' }]);
  expect(table).toMatch(/^\| +\| +fp32 \| +int8 \|$/m);
  expect(table).toMatch(/^\| multiplication_table +\| +100\.0 % \(40\/40\) \|/m);
  expect(table).toMatch(/^\| all tasks +\| +97\.6 % \(40\/41\) \|/m);
  expect(new Set(table.split('\n').map((line) => line.length)).size).toBe(1);
});

test('a model that cannot be loaded is an error', async () => {
  const model = await models.get('summit');
  const data = encodeData({ texts: ['some text'], questions: [] }, text);
  const limits = { maxNumSeqs: 1, threads: 1 };
  const missing = { ...model, graphPath: '/nowhere/decoder.onnx' };
  await expect(evaluateModel(missing, data, text, limits, () => {})).rejects.toThrow(/nowhere/);
});

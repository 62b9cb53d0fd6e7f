import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isCorrect } from '../../src/eval/answer-check.ts';
import { readEvalFile } from '../../src/eval/eval-file.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { UserError } from '../../src/user-error.ts';

async function file(name: string, content: string): Promise<string> {
  const path = join(await temporaryDirectory(), name);
  await writeFile(path, content);
  return path;
}

test('lines are texts and questions, with defaults filled in', async () => {
  const lines = [
    { text: 'One text.' },
    { task: 'sums', prompt: '1 + 1?', answer: '2' },
    { task: 'json', prompt: '?', answer: '{}', check: 'json', max_tokens: 7, system: 'Be brief.' },
  ];
  const content = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n\n`;
  expect(await readEvalFile(await file('data.jsonl', content))).toEqual({
    texts: ['One text.'],
    questions: [{ ...lines[1], check: 'text', max_tokens: 64 }, lines[2]],
  });
});

test('a file that is not JSON lines is one text', async () => {
  const path = await file('book.txt', '{"text": "as it is"}\n');
  expect(await readEvalFile(path)).toEqual({ texts: ['{"text": "as it is"}\n'], questions: [] });
});

test.each([
  ['{"text": "a"}\nnonsense', /line 2 is not JSON/],
  ['{"text": ""}', /line 1 .*text/s],
  ['{"task": "a", "prompt": "b"}', /line 1 .*answer/s],
  ['{"task": "a", "prompt": "b", "answer": "c", "check": "magic"}', /check/],
  ['{"text": "a", "answer": "b"}', /answer/],
  ['3', /line 1/],
  ['\n', /empty/],
])('%j is refused', async (content, message) => {
  const read = readEvalFile(await file('data.jsonl', content));
  await expect(read).rejects.toThrow(UserError);
  await expect(read).rejects.toThrow(message);
});

test('a file that is not there is named', async () => {
  await expect(readEvalFile('/nowhere/data.txt')).rejects.toThrow('/nowhere/data.txt');
});

test("summit's data is complete", async () => {
  const { texts, questions } = await readEvalFile('models/summit/eval.jsonl');
  expect(texts).toHaveLength(400);
  expect(new Set(questions.map(({ task }) => task)).size).toBe(10);
  // Expected answers pass the check that they are judged by.
  for (const { check, answer } of questions) expect(isCorrect(check, answer, answer)).toBe(true);
});

test.each([
  ['text', ' 2 \n', '2', true],
  ['text', '2.', '2', false],
  ['json', '{"a": 1}', '[]', true],
  ['json', '{"a": 1', '[]', false],
  ['json', '', '[]', false],
  ['json-value', '{"b":[1,2],"a":1}', '{"a": 1, "b": [1, 2]}', true],
  ['json-value', '{"b":[2,1],"a":1}', '{"a": 1, "b": [1, 2]}', false],
  ['json-value', 'null', 'null', true],
  ['json-value', 'nul', 'null', false],
] as const)('the check %s judges %j where %j is right', (check, got, expected, correct) => {
  expect(isCorrect(check, got, expected)).toBe(correct);
});

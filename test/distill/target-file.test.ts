import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readRecords, toMember } from '../../src/distill/gzip-members.ts';
import { TargetFile } from '../../src/distill/target-file.ts';
import { type TargetsHeader, toRecord } from '../../src/distill/target-record.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const HEADER: TargetsHeader = {
  format: 'chairlift-soft-targets',
  version: 1,
  teacher: 'summit',
  precision: 'fp32',
  vocab_size: 65536,
  top_logprobs: 2,
  prompt_logprobs: false,
  max_tokens: 8,
  temperature: 1,
  top_p: 1,
  seed: 0,
  prompts: 'abc',
};

/** A table as an engine gives it: the token that is there, then the two likeliest. */
const table = (tokenIds: number[], logprobs: number[]) => ({
  tokenIds: Int32Array.from(tokenIds),
  logprobs: Float32Array.from(logprobs),
});

const RECORDS = [
  toRecord(
    {
      line: 1,
      tokens: [5, 6, 7, 8],
      numPrompt: 2,
      first: 2,
      tables: [table([7, 7, 9], [-0.5, -0.5, -1.5]), table([8, 8, 65535], [0, 0, -10])],
    },
    2,
    HEADER.vocab_size,
  ),
  toRecord(
    {
      line: 0,
      tokens: [1, 2, 3],
      numPrompt: 3,
      first: 1,
      tables: [table([2, 4, 2, 3, 3, 9], [-2, -1, -2, -0.1, -0.1, -3])],
    },
    2,
    HEADER.vocab_size,
  ),
];

async function write(path: string, records = RECORDS): Promise<void> {
  const file = await TargetFile.open(path, HEADER);
  for (const record of records) file.add(record);
  await file.close();
}

test('what is written is what the fixture of scripts/training has', async () => {
  const path = join(await temporaryDirectory(), 'targets.jsonl.gz');
  await write(path);
  const saved = await readFile('test/fixtures/training/targets.jsonl.gz');
  // Not the same bytes: another zlib compresses in another way.
  expect(gunzipSync(await readFile(path)).toString()).toBe(gunzipSync(saved).toString());
});

test('a file that was cut off goes on with what is whole', async () => {
  const path = join(await temporaryDirectory(), 'targets.jsonl.gz');
  await write(path);
  const whole = await readFile(path);
  await writeFile(path, whole.subarray(0, whole.length - 3));
  const file = await TargetFile.open(path, HEADER);
  expect([file.isDone(1), file.isDone(0), file.numDone]).toEqual([true, false, 1]);
  file.add(RECORDS[1]!);
  expect([file.isDone(0), file.numBytes]).toEqual([true, whole.length]);
  await file.close();
  expect(await readFile(path)).toEqual(whole);
});

test('a file that was cut within its header begins anew', async () => {
  const path = join(await temporaryDirectory(), 'targets.jsonl.gz');
  await writeFile(path, toMember(JSON.stringify(HEADER)).subarray(0, 30));
  await write(path, []);
  expect(await readRecords(path)).toEqual([`${JSON.stringify(HEADER)}\n`]);
});

test('targets that were made in another way are left alone', async () => {
  const path = join(await temporaryDirectory(), 'targets.jsonl.gz');
  await write(path);
  const other = { ...HEADER, temperature: 0.5, prompts: 'def' };
  await expect(TargetFile.open(path, other)).rejects.toThrow(
    /temperature was 1, now 0\.5; prompts was "abc", now def.*another --out/,
  );
  await appendFile(path, 'something else that is no record');
  await expect(TargetFile.open(path, HEADER)).rejects.toThrow(/damaged/);
});

test('token ids of large vocabularies have four bytes', () => {
  const text = {
    line: 0,
    tokens: [1],
    numPrompt: 0,
    first: 0,
    tables: [table([1, 70000], [0, -1])],
  };
  const { ids } = toRecord(text, 1, 100_000);
  expect(Buffer.from(ids, 'base64').readUInt32LE()).toBe(70000);
});

test('targets that do not fit the tokens are an error', () => {
  const text = { line: 0, tokens: [1, 2], numPrompt: 0, first: 0, tables: [table([1, 1], [0, 0])] };
  expect(() => toRecord(text, 1, 10)).toThrow('1 targets came for 2 tokens');
});

/** The messages in docs/troubleshooting.md are those of the sources, and of what users run. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { engineLimits } from '../../src/serving/plan/engine-limits.ts';
import { findModel } from '../../src/serving/models/find-model.ts';
import { parseDecoderConfig } from '../../src/model/huggingface/config.ts';
import { inspectModelFolder } from '../../src/model/folder/model-folder.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { SafetensorsWeights } from '../../src/model/huggingface/safetensors.ts';
import { explainListenError } from '../../src/server/http/listen.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { readPage } from './support/pages.ts';

function quoted(): string[] {
  const [upToAnswers = ''] = readPage('docs/troubleshooting.md').split('\n## Answers');
  return upToAnswers
    .split('\n')
    .flatMap((line) => /^\| (?:\d+ )?`(?<message>[^`]+)`/.exec(line)?.groups?.['message'] ?? []);
}

it('docs/troubleshooting.md quotes messages as they are', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join('src', name), 'utf8'))
    .join('\n')
    // Messages of several lines are one text.
    .replaceAll(/['`] \+\s+['`]/g, '');
  const messages = quoted();
  expect(messages.length).toBeGreaterThan(15);
  const missing = messages.filter((message) =>
    message.split('...').some((part) => !sources.includes(part.trim())),
  );
  expect(missing).toEqual([]);
});

/** Message that a user gets to read. */
async function messageOf(action: () => unknown): Promise<string> {
  try {
    await action();
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  throw new Error('nothing went wrong');
}

it('docs/troubleshooting.md begins with messages that users see', async () => {
  const folder = await temporaryDirectory();
  const unfinished = join(folder, 'unfinished');
  const truncated = join(folder, 'model.safetensors');
  mkdirSync(unfinished);
  copyFileSync(join('models', 'summit', 'config.json'), join(unfinished, 'config.json'));
  const weights = readFileSync(join('models', 'summit', 'model.safetensors'));
  writeFileSync(truncated, weights.subarray(0, -1));
  const limits = {
    maxNumSeqs: 4,
    maxModelLen: 2 ** 20,
    maxNumBatchedTokens: undefined,
    kvCacheMemory: undefined,
    prefixCaching: true,
    targetItlMs: undefined,
    threads: 0,
    durableKv: false,
    kvCacheDtype: 'auto',
  } as const;
  const taken = Object.assign(new Error('in use'), { code: 'EADDRINUSE' });
  const seen = [
    await messageOf(async () => findModel(join(folder, 'nowhere'))),
    await messageOf(async () => inspectModelFolder(unfinished)),
    await messageOf(async () => SafetensorsWeights.open([truncated])),
    explainListenError(taken, '127.0.0.1', 8000),
    await messageOf(() => engineLimits(limits, parseDecoderConfig(PRESETS.tiny, 'tiny'))),
  ];
  const rows = quoted().filter((message) => !message.includes('too few for a KV cache'));
  for (const [index, message] of seen.entries()) {
    for (const part of rows[index]?.split('...') ?? ['?']) expect(message).toContain(part.trim());
  }
});

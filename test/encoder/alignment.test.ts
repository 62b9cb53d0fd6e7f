/** The times of tokens that Transformers has of tiny models; scripts/references/word_times.py wrote them. */
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { TENSOR_BATCHING } from '../../src/front/batching/default-batching.ts';
import { TensorModel } from '../../src/front/tensors/tensor-model.ts';
import { SpeechAligner } from '../../src/front/transcription/speech-aligner.ts';
import { readAlignment } from '../../src/model/speech/alignment-config.ts';
import { inspectSpeech } from '../../src/model/speech/speech-folder.ts';
import { SPEECH_MODELS, speechFolder, speechReference } from '../support/speech.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const ids = z.array(z.int());
const alignment = z.object({
  heads: z.array(ids),
  cases: z.array(
    z.object({
      window: z.string(),
      ids,
      tokens: ids,
      frames: z.int(),
      times: z.array(z.number()),
    }),
  ),
});
const { times: references } = z
  .object({ times: z.record(z.enum(SPEECH_MODELS), alignment) })
  .parse(JSON.parse(await readFile(join(speechFolder('whisper'), '../word-times.json'), 'utf8')));

/** The model's folder with heads of its own. */
async function folderWith(name: (typeof SPEECH_MODELS)[number], heads: unknown): Promise<string> {
  const folder = join(cache.path, `${name}-${JSON.stringify(heads).length}`);
  await mkdir(folder, { recursive: true });
  for (const file of ['config.json', 'model.safetensors']) {
    await copyFile(join(speechFolder(name), file), join(folder, file));
  }
  const generation = JSON.stringify({ alignment_heads: heads });
  await writeFile(join(folder, 'generation_config.json'), generation);
  return folder;
}

async function alignerOf(name: (typeof SPEECH_MODELS)[number]) {
  const path = await folderWith(name, references[name].heads);
  const format = (await inspectSpeech(path))?.shape;
  if (format === undefined) throw new Error('the folder hears nothing');
  const { windows } = await speechReference(name);
  const held = { taken: 0, released: 0, starts: 0 };
  const aligner = new SpeechAligner({
    format,
    hearing: {
      async embed({ hash }) {
        held.taken++;
        const rows = new Float32Array(windows[hash]?.encoded ?? []);
        return { embeddings: [{ start: 0, rows }], release: () => held.released++ };
      },
    },
    newModel() {
      held.starts++;
      return new TensorModel({
        source: { type: 'alignment', path, cacheDirectory: cache.path },
        threads: 1,
        runTimeoutMs: 60_000,
        batching: { ...TENSOR_BATCHING, maxBatchSize: 1 },
      });
    },
  });
  return { aligner, held };
}

const CALLER = { client: '', signal: new AbortController().signal };

function textOf({
  window,
  ids: prompt,
  tokens,
  frames,
}: (typeof references)['whisper']['cases'][number]) {
  const speech = { hash: window, features: new Float32Array() };
  return { window: speech, prompt, tokens, positions: Math.floor(frames / 2) };
}

describe.each(SPEECH_MODELS)('%s', (name) => {
  it("tokens have Transformers' times, whatever part of the window has sound", async () => {
    const { aligner, held } = await alignerOf(name);
    expect(aligner.pids).toEqual([]);
    const { cases } = references[name];
    const found = await Promise.all(cases.map((each) => aligner.align(textOf(each), '', CALLER)));
    expect(found.map((each) => Array.from(each, (at) => Math.round(at * 2) / 100))).toEqual(
      cases.map(({ times }) => times),
    );
    expect(new Set(cases.flatMap(({ times }) => times)).size).toBeGreaterThan(5);
    expect(held).toEqual({ taken: cases.length, released: cases.length, starts: 1 });
    await aligner.stop();
  });
});

it('gives up with its client, and lets the embeddings go', async () => {
  const { aligner, held } = await alignerOf('whisper');
  const [first] = references.whisper.cases;
  if (first === undefined) throw new Error('there are no cases');
  const leaving = new AbortController();
  const left = aligner.align(textOf(first), '', { client: '', signal: leaving.signal });
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  const most = await aligner.align(textOf(first), '', CALLER);
  expect(most).toHaveLength(first.tokens.length);
  expect(held.released).toBe(held.taken);
  const short = { ...textOf(first), positions: 3 };
  expect(await aligner.align(short, '', CALLER)).toEqual(new Int32Array(first.tokens.length));
  await aligner.stop();
  await expect(aligner.align(textOf(first), '', CALLER)).rejects.toThrow('stopped');
});

it('is refused where heads are missing, and where there are none', async () => {
  expect(await readAlignment(speechFolder('whisper'))).toBeNull();
  const missing = await folderWith('whisper', [
    [0, 0],
    [9, 1],
  ]);
  await expect(readAlignment(missing)).rejects.toThrow('heads that the model does not have');
  const many = await folderWith(
    'whisper',
    Array.from({ length: 2000 }, () => [0, 0]),
  );
  await expect(readAlignment(many)).rejects.toThrow('alignment_heads');
});

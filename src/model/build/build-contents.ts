import { createHash } from 'node:crypto';
import { open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

import { z } from 'zod';

import { joinUntrusted } from '../../files/untrusted-path.ts';
import { externalFiles } from '../../onnx/external-initializers.ts';
import { parseModel } from '../../onnx/parsed-model.ts';
import { GRAPH_FILE } from './decoder-source.ts';
import { readRange } from '../file-range.ts';
import { readJson } from '../huggingface/json-file.ts';
import { reasonOf } from '../../files/system-error.ts';

const CONTENTS_FILE = 'contents.json';

/** Bytes of a file that are hashed in each piece; files of up to PIECES pieces are hashed whole. */
const PIECE = 1024 * 1024;
const PIECES = 64;

const bytes = z.int().nonnegative();

const contentsSchema = z.object({
  /** Files of the folder, by name. */
  files: z.record(z.string(), z.object({ bytes, sha256: z.string() })),
  /** Files of an export that hold weights of the graph: minimum sizes in bytes. */
  weights: z.record(z.string(), bytes),
});

/**
 * Records the content of a finished build folder. It is written last: a folder without it is not
 * finished.
 * @param weightsFolder of weights that are not in the folder; null where all are
 */
export async function writeContents(folder: string, weightsFolder: string | null): Promise<void> {
  const names = await readdir(folder);
  const files: z.infer<typeof contentsSchema>['files'] = {};
  for (const name of names) files[name] = await describe(join(folder, name));
  const weights: Record<string, number> = {};
  if (weightsFolder !== null) {
    const graphPath = join(folder, GRAPH_FILE);
    const { graph } = parseModel(await readFile(graphPath));
    for (const [path, end] of externalFiles(graph, weightsFolder, graphPath)) {
      const name = relative(weightsFolder, path).replaceAll(sep, '/');
      if (!names.includes(name)) weights[name] = end;
    }
  }
  const text = `${JSON.stringify({ files, weights }, null, 2)}\n`;
  await writeFile(join(folder, CONTENTS_FILE), text, { flush: true });
}

/**
 * Looks whether a build folder is as it was when it was finished: all sizes, and the content of files
 * up to 64 MiB; of larger ones that much, spread over them.
 * @returns what is wrong, naming the file; null where nothing is
 */
export async function findDamage(
  folder: string,
  weightsFolder: string | null,
): Promise<string | null> {
  try {
    const path = join(folder, CONTENTS_FILE);
    const { files, weights } = contentsSchema.parse(await readJson(path));
    for (const [name, expected] of Object.entries(files)) {
      const file = joinUntrusted(folder, name, path);
      const size = await sizeOf(file);
      if (size === null) return `${name} is missing`;
      if (size !== expected.bytes) return `${name} has ${size} of its ${expected.bytes} bytes`;
      if ((await describe(file)).sha256 !== expected.sha256) return `${name} has changed`;
    }
    for (const [name, end] of Object.entries(weights)) {
      const size = (await sizeOf(joinUntrusted(weightsFolder ?? folder, name, path))) ?? 0;
      if (size < end) return `${name} has ${size} bytes, and weights up to byte ${end}`;
    }
    return null;
  } catch (error) {
    if (error instanceof z.ZodError) return `${CONTENTS_FILE} is damaged`;
    return reasonOf(error);
  }
}

async function sizeOf(path: string): Promise<number | null> {
  return (await stat(path).catch(() => null))?.size ?? null;
}

async function describe(path: string): Promise<{ bytes: number; sha256: string }> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const hash = createHash('sha256');
    const piece = new Uint8Array(Math.min(PIECE, size));
    const count = Math.min(PIECES, Math.ceil(size / PIECE));
    for (let index = 0; index < count; index++) {
      // Evenly, the first and the last included; whole files piece by piece, the last one shorter.
      const isWhole = size <= PIECE * PIECES;
      const spread = Math.floor(((size - PIECE) / (PIECES - 1)) * index);
      const offset = isWhole ? PIECE * index : spread;
      const part = piece.subarray(0, Math.min(PIECE, size - offset));
      await readRange(file, offset, part, path);
      hash.update(part);
    }
    return { bytes: size, sha256: hash.digest('hex') };
  } finally {
    await file.close();
  }
}

/** Tiny CLIP and SigLIP, with what Transformers computes from them (scripts/references/dual_encoders.py). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

export const DUAL_MODELS = ['clip', 'siglip'] as const;
export type DualName = (typeof DUAL_MODELS)[number];

const rows = z.array(z.array(z.number()));

const reference = z.object({
  texts: z.array(z.string()),
  ids: rows,
  /** Files of test/fixtures/vision/images. */
  images: z.array(z.string()),
  textVectors: rows,
  imageVectors: rows,
  /** [images, texts] */
  logits: rows,
  probs: rows,
});

export function dualFolder(name: DualName): string {
  return fileURLToPath(new URL(`../fixtures/dual-encoders/${name}`, import.meta.url));
}

export async function dualReference(name: DualName) {
  const text = await readFile(join(dualFolder(name), 'reference.json'), 'utf8');
  return reference.parse(JSON.parse(text));
}

/** The file of one of the images. */
export async function dualImage(name: string): Promise<Buffer> {
  return readFile(new URL(`../fixtures/vision/images/${name}`, import.meta.url));
}

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { z } from 'zod';

import { ADAPTER_TYPES } from '../graph/live-adapter-shape.ts';
import { readJson } from '../huggingface/json-file.ts';
import {
  ACTIVATION_DTYPES,
  type DecoderManifest,
  KERNEL_SETS,
  KV_CACHE_DTYPES,
  PRECISIONS,
} from '../manifest.ts';

const MANIFEST_FILE = 'manifest.json';

const size = z.int().positive();
const manifestSchema: z.ZodType<DecoderManifest> = z.object({
  formatVersion: size,
  family: z.string(),
  precision: z.enum(PRECISIONS),
  activationDtype: z.enum(ACTIVATION_DTYPES),
  kvCacheDtype: z.enum(KV_CACHE_DTYPES),
  kernels: z.enum(KERNEL_SETS),
  numLayers: z.int().nonnegative(),
  predictionLayers: size.optional(),
  numKvHeads: size,
  headDim: size,
  layerHeads: z.array(z.object({ numKvHeads: size, headDim: size })).optional(),
  vocabSize: size,
  maxPositionEmbeddings: size,
  numParameters: size,
  constantScales: z.object({ matrices: z.int().nonnegative(), of: size }).optional(),
  adapters: z
    .object({
      inputs: z.array(
        z.object({ name: z.string(), type: z.enum(ADAPTER_TYPES), rows: size, columns: size }),
      ),
    })
    .optional(),
  takesEmbeddings: z.boolean().optional(),
  takesImageEnds: z.literal(true).optional(),
  slidingWindows: z.array(size.nullable()).optional(),
  states: z.array(z.object({ name: z.string(), width: size })).optional(),
});

/**
 * Reads the manifest of a build folder.
 * @throws {ModelError} if it is not there or not JSON
 * @throws {z.ZodError} if it is not a manifest
 */
export async function readManifest(folder: string): Promise<DecoderManifest> {
  return manifestSchema.parse(await readJson(join(folder, MANIFEST_FILE)));
}

export async function writeManifest(folder: string, manifest: DecoderManifest): Promise<void> {
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  await writeFile(join(folder, MANIFEST_FILE), text, { flush: true });
}

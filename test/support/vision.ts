/** Tiny models that see, with what Transformers computes from them (scripts/references/vision.py). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { z } from 'zod';

import { type DecodeLimits, ImageDecoder } from '../../src/images/decode.ts';
import type { Pixels } from '../../src/images/pixels.ts';
import { inspectModelFolder } from '../../src/model/folder/model-folder.ts';
import { inspectVision } from '../../src/model/vision/vision-folder.ts';
import type { VisionConfig, VisionPart } from '../../src/model/vision/vision-part.ts';

/** Those that see tiles. */
export const VISION_MODELS = ['smolvlm', 'idefics3'] as const;
/** Those whose images keep their shape (scripts/references/qwen_vision.py). */
export const QWEN_MODELS = ['qwen2-vl', 'qwen2.5-vl', 'qwen3-vl', 'qwen3-vl-moe'] as const;

/** Those whose images are lines of tokens (scripts/references/pixtral_vision.py). */
export const LINE_MODELS = ['mistral3', 'llava-pixtral'] as const;

/** Those whose images are squares (scripts/references/gemma_vision.py and llava_vision.py). */
export const SQUARE_MODELS = ['gemma3', 'llava', 'llava-siglip'] as const;

/** Those whose images are canvases of tiles (scripts/references/internvl_vision.py). */
export const CANVAS_MODELS = ['internvl', 'internvl-plain'] as const;

/** Those whose images are tiles with margins (scripts/references/llava_next_vision.py and onevision_vision.py). */
export const ANYRES_MODELS = ['llava-next', 'llava-onevision'] as const;

/** Those that are GGUF files too (scripts/references/gguf_vision.py), by how they see. */
export const GGUF_MODELS = [
  ['smolvlm', 'tiles'],
  ['idefics3', 'tiles'],
  ['qwen2-vl', 'grid'],
  ['qwen2.5-vl', 'grid'],
  ['qwen3-vl', 'grid'],
  ['qwen3-vl-moe', 'grid'],
  ['mistral3', 'lines'],
  ['gemma3', 'square'],
] as const;

const floats = z.base64().transform((text) => {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  return new Float32Array(bytes.buffer);
});

const imageSchema = z.object({
  rows: z.int(),
  columns: z.int(),
  placeholder: z.string(),
  /** Bytes of patches, of those models. */
  patches: z.base64().optional(),
  /** [tiles * tokens, text size] */
  embeddings: floats,
});

const referenceSchema = z.object({
  /** By the names of files. */
  images: z.record(
    z.string(),
    /** One of several, of those models that see these in another way. */
    imageSchema.extend({ amongOthers: imageSchema.optional() }),
  ),
  prompts: z.record(
    z.string(),
    z.object({
      messages: z.array(
        z.object({
          role: z.enum(['user', 'assistant']),
          content: z.array(
            z.union([
              z.object({ type: z.literal('image') }),
              z.object({ type: z.literal('text'), text: z.string() }),
            ]),
          ),
        }),
      ),
      /** Names of files, in the order of the image parts. */
      images: z.array(z.string()),
      /** As the template writes it, a mark for each image. */
      text: z.string(),
      /** Marks are expanded. */
      ids: z.array(z.int()),
      greedy: z.array(z.int()),
      /** Before the first and the last greedy token. */
      logits: z.tuple([floats, floats]),
    }),
  ),
});

const FIXTURES = fileURLToPath(new URL('../fixtures/vision', import.meta.url));
const GGUF_FIXTURES = fileURLToPath(new URL('../fixtures/gguf-vision', import.meta.url));
const LIMITS: DecodeLimits = { maxPixels: 2 ** 20, maxSeconds: 10 };

export function visionFolder(name: string): string {
  return join(FIXTURES, name);
}

/** The same as GGUF files (scripts/references/gguf_vision.py): path of the text model. */
export function visionGguf(name: string): string {
  return join(GGUF_FIXTURES, name, `${name}.gguf`);
}

/** Path of the file that lies beside it. */
export function mmprojOf(name: string): string {
  return join(GGUF_FIXTURES, name, `mmproj-${name}-F16.gguf`);
}

export async function visionReference(name: string) {
  const text = await readFile(join(FIXTURES, name, 'reference.json'), 'utf8');
  return referenceSchema.parse(JSON.parse(text));
}

export async function visionFile(name: string): Promise<Buffer> {
  return readFile(join(FIXTURES, 'images', name));
}

export async function visionImage(name: string): Promise<Pixels> {
  const decoder = await ImageDecoder.load();
  return decoder.decode(await visionFile(name), LIMITS, 'on white');
}

type Seeing<Kind extends VisionConfig['kind']> = Extract<VisionConfig, { readonly kind: Kind }>;

/**
 * The part of a model that sees.
 * @param model its folder, or a GGUF file
 * @throws Error if it sees in another way
 */
export async function inspectedVision<Kind extends VisionConfig['kind']>(
  name: string,
  kind: Kind,
  model = visionFolder(name),
): Promise<VisionPart & { readonly config: Seeing<Kind> }> {
  const part = await inspected(name, model);
  const { config } = part;
  if (!isOf(config, kind)) throw new Error(`${name} sees ${config.kind}, and no ${kind}`);
  return { ...part, config };
}

function isOf<Kind extends VisionConfig['kind']>(
  config: VisionConfig,
  kind: Kind,
): config is Seeing<Kind> {
  return config.kind === kind;
}

async function inspected(name: string, model: string): Promise<VisionPart> {
  const folder = await inspectModelFolder(model);
  if (folder.kind === 'export') throw new Error(`${name} is no checkpoint`);
  const vision = await inspectVision(folder.path, folder.config.hiddenSize);
  if (vision === null) throw new Error(`${name} sees nothing`);
  return vision;
}

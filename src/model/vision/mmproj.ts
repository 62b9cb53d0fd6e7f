/** GGUF models that see: a text model, and a file `mmproj-*.gguf` with its tower and connector. */
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

import { GgufFile } from '../gguf/gguf-file.ts';
import { pickMmproj } from '../gguf/gguf-names.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { ModelError } from '../model-error.ts';
import {
  gemmaConfig,
  ideficsConfig,
  type MmprojFacts,
  pixtralConfig,
  qwenConfig,
  requireWidth,
} from './mmproj-config.ts';
import { openGemma, openIdefics, openPixtral, openQwen } from './mmproj-families.ts';
import { PLACEHOLDER_TEXTS } from './vision-config.ts';
import type { VisionConfig, VisionPart } from './vision-part.ts';

/** Facts about images in a GGUF text model. */
interface TextFacts {
  readonly architecture: string | undefined;
  readonly tokens: readonly string[];
  readonly deepLayers: number;
}

/** How the text model of a family shows images, and what its mmproj files hold. */
interface MmprojFamily {
  /** Token that embeddings of images take the place of; null for a text model that takes none. */
  readonly imageToken: (text: TextFacts) => string | null;
  readonly parse: (facts: MmprojFacts) => {
    readonly config: VisionConfig;
    readonly open: (path: string) => Promise<WeightSource>;
  };
}

const idefics: MmprojFamily = {
  imageToken: ({ tokens }) => {
    const { image, around } = PLACEHOLDER_TEXTS;
    return hasAll(tokens, [image, around]) ? image : null;
  },
  parse: (facts) => {
    const config = ideficsConfig(facts);
    return { config, open: (path) => openIdefics(path, config.shape.tower) };
  },
};

const gemma: MmprojFamily = {
  imageToken: ({ architecture, tokens }) => {
    if (architecture !== 'gemma3') return null;
    if (!hasAll(tokens, ['<start_of_image>', '<end_of_image>'])) return null;
    // Vocabularies of files may end before it; no template writes the other one.
    return ['<image_soft_token>', '<pad>'].find((token) => tokens.includes(token)) ?? null;
  },
  parse: (facts) => {
    const config = gemmaConfig(facts);
    return { config, open: (path) => openGemma(path, config.shape.tower) };
  },
};

const pixtral: MmprojFamily = {
  imageToken: ({ tokens }) =>
    hasAll(tokens, ['[IMG]', '[IMG_BREAK]', '[IMG_END]']) ? '[IMG]' : null,
  parse: (facts) => {
    const config = pixtralConfig(facts);
    return { config, open: (path) => openPixtral(path, config.shape.tower) };
  },
};

function qwen(modelType: Parameters<typeof qwenConfig>[1], ...of: string[]): MmprojFamily {
  const token = '<|image_pad|>';
  return {
    imageToken: ({ architecture, tokens }) =>
      of.includes(architecture ?? '') && tokens.includes(token) ? token : null,
    parse: (facts) => {
      const config = qwenConfig(facts, modelType);
      return { config, open: (path) => openQwen(path, config.shape.tower) };
    },
  };
}

/** By `clip.projector_type`. */
const FAMILIES: ReadonlyMap<string, MmprojFamily> = new Map([
  ['idefics3', idefics],
  ['qwen2vl_merger', qwen('qwen2_vl', 'qwen2vl')],
  ['qwen2.5vl_merger', qwen('qwen2_5_vl', 'qwen2vl')],
  ['qwen3vl_merger', qwen('qwen3_vl', 'qwen3vl', 'qwen3vlmoe')],
  ['gemma3', gemma],
  ['pixtral', pixtral],
]);

function hasAll(tokens: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((token) => tokens.includes(token));
}

/** As inspectVision, for a GGUF model. */
export async function inspectMmproj(
  path: string,
  textSize: number,
  given: string | null,
): Promise<VisionPart | null> {
  const mmproj = given === null ? await mmprojBeside(path) : resolve(given);
  if (mmproj === null) return null;
  const text = await textFactsOf(path);
  const file = await GgufFile.open(mmproj);
  await file.close();
  const { metadata, paths: files } = file;
  const projector = metadata.string('clip.projector_type') ?? '';
  const imageToken = FAMILIES.get(projector)?.imageToken(text) ?? null;
  if (imageToken !== null) {
    const { config, open } = mmprojConfig({
      metadata,
      origin: mmproj,
      shapeOf: (tensor) => file.tensor(tensor)?.shape,
      imageToken,
      imageTokenId: text.tokens.indexOf(imageToken),
      textSize,
      deepLayers: text.deepLayers,
    });
    return { path, mmproj, config, files, open: () => open(mmproj) };
  }
  // A file that was only found may be of a family whose texts alone are served.
  if (given === null) return null;
  throw new ModelError(
    FAMILIES.has(projector)
      ? `${path} has no tokens that stand for the images of ${mmproj}`
      : `${mmproj} has the projector "${projector}"; images are served of ${[...FAMILIES.keys()].join(', ')}`,
  );
}

/** Whether a GGUF model's texts have places for images. @throws {ModelError} if it is damaged */
export async function hasImageTokens(path: string): Promise<boolean> {
  const text = await textFactsOf(path);
  return [...FAMILIES.values()].some(({ imageToken }) => imageToken(text) !== null);
}

/**
 * Facts about images in a file of a known projector, and what opens its weights.
 * @throws {ModelError} naming the file, and what in it is wrong
 */
export function mmprojConfig(facts: MmprojFacts): ReturnType<MmprojFamily['parse']> {
  const name = 'clip.projector_type';
  const family = FAMILIES.get(facts.metadata.require(name, facts.metadata.string(name)));
  if (family === undefined) throw new ModelError(`${facts.origin} has another projector`);
  requireWidth(facts);
  return family.parse(facts);
}

async function mmprojBeside(path: string): Promise<string | null> {
  const folder = dirname(path);
  const name = pickMmproj(await readdir(folder), basename(path));
  return name === null ? null : join(folder, name);
}

async function textFactsOf(path: string): Promise<TextFacts> {
  const file = await GgufFile.open(path);
  await file.close();
  const { metadata } = file;
  const architecture = metadata.string('general.architecture');
  return {
    architecture,
    tokens: metadata.strings('tokenizer.ggml.tokens') ?? [],
    deepLayers: metadata.number(`${architecture}.n_deepstack_layers`) ?? 0,
  };
}

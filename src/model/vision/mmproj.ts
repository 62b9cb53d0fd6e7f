/** GGUF models that see: a text model, and a file `mmproj-*.gguf` with its tower and connector. */
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

import { GgufFile } from '../gguf/gguf-file.ts';
import { pickMmproj } from '../gguf/gguf-names.ts';
import type { GgufMetadata } from '../gguf/metadata.ts';
import { ModelError } from '../model-error.ts';
import { MmprojWeights } from './mmproj-weights.ts';
import { parseVisionConfig, PLACEHOLDER_TEXTS, type TileVision } from './vision-config.ts';
import type { VisionPart } from './vision-part.ts';

/** The connector of Idefics 3 and SmolVLM. */
const PROJECTOR = 'idefics3';

/**
 * How many sides of a tile the longest edge of an image is resized to, where a file does not say it: those of
 * older converters do not. All published models have 4.
 */
const TILES_ALONG = 4;

/** As inspectVision, for a GGUF model. */
export async function inspectMmproj(
  path: string,
  textSize: number,
  given: string | null,
): Promise<VisionPart | null> {
  const mmproj = given === null ? await mmprojBeside(path) : resolve(given);
  if (mmproj === null) return null;
  const imageTokenId = await imageTokenOf(path);
  const file = await GgufFile.open(mmproj);
  const { metadata, paths: files } = file;
  await file.close();
  const projector = metadata.string('clip.projector_type');
  if (projector === PROJECTOR && imageTokenId !== null) {
    const config = mmprojConfig(metadata, mmproj, { imageTokenId, textSize });
    const open = () => MmprojWeights.open(mmproj, config.shape);
    return { path, mmproj, config, files, open };
  }
  // A file that was only found may be of a family whose texts alone are served.
  if (given === null) return null;
  throw new ModelError(
    imageTokenId === null
      ? `${path} has no tokens that stand for the images of ${mmproj}`
      : `${mmproj} has the projector "${projector}"; images are served of ${PROJECTOR}`,
  );
}

/** Whether a GGUF model's texts have places for images. @throws {ModelError} if it is damaged */
export async function hasImageTokens(path: string): Promise<boolean> {
  return (await imageTokenOf(path)) !== null;
}

async function mmprojBeside(path: string): Promise<string | null> {
  const folder = dirname(path);
  const name = pickMmproj(await readdir(folder), basename(path));
  return name === null ? null : join(folder, name);
}

/** Null where a vocabulary lacks the tokens that both families have for images. */
async function imageTokenOf(path: string): Promise<number | null> {
  const file = await GgufFile.open(path);
  await file.close();
  const tokens = file.metadata.strings('tokenizer.ggml.tokens') ?? [];
  const { image, around } = PLACEHOLDER_TEXTS;
  return tokens.includes(around) && tokens.includes(image) ? tokens.indexOf(image) : null;
}

/**
 * Reads what a file says of images, as the fields of config.json and preprocessor_config.json.
 * @throws {ModelError} naming the file as `origin`, and what in it is wrong
 */
export function mmprojConfig(
  metadata: GgufMetadata,
  origin: string,
  { imageTokenId, textSize }: { readonly imageTokenId: number; readonly textSize: number },
): TileVision {
  const key = (name: string) => `clip.vision.${name}`;
  const number = (name: string) => metadata.number(key(name));
  const needed = (name: string) => metadata.require(key(name), number(name));
  const perChannel = (name: string) => [
    ...metadata.require(key(name), metadata.numbers(key(name))),
  ];
  const stated = needed('projection_dim');
  if (stated !== textSize) {
    throw new ModelError(
      `${origin} is for a text model of width ${stated}, and this one has ${textSize}`,
    );
  }
  const tileSide = needed('image_size');
  const model = {
    image_token_id: imageTokenId,
    scale_factor: needed('projector.scale_factor'),
    vision_config: {
      hidden_size: needed('embedding_length'),
      intermediate_size: needed('feed_forward_length'),
      num_hidden_layers: needed('block_count'),
      num_attention_heads: needed('attention.head_count'),
      image_size: tileSide,
      patch_size: needed('patch_size'),
      hidden_act: metadata.boolean('clip.use_gelu') === true ? 'gelu_pytorch_tanh' : 'quick_gelu',
      layer_norm_eps: needed('attention.layer_norm_epsilon'),
    },
  };
  const images = {
    size: { longest_edge: number('preproc_image_size') ?? TILES_ALONG * tileSide },
    max_image_size: { longest_edge: tileSide },
    image_mean: perChannel('image_mean'),
    image_std: perChannel('image_std'),
  };
  const of = (json: unknown) => ({ json, origin });
  return parseVisionConfig({ config: of(model), images: of(images), processor: of({}) }, textSize);
}

/** Vectors of texts and images together, and how near they are to each other. */
import type { Caller } from '../../front/caller.ts';
import type { ImagePart, ImageReader } from '../../front/chat/chat-images.ts';
import type { Embeddings, EmbedOptions, Scores } from '../../front/embedding/embed-request.ts';
import { placedIn } from '../../front/embedding/encoder-tokenizer.ts';
import { InvalidRequestError } from '../../front/invalid-request.ts';
import type { ImageTower } from '../../front/vision/image-encoder.ts';
import type { EmbeddingRuntime } from './embedding-runtime.ts';
import { isImage, isText, type MixedInput } from './mixed-inputs.ts';

/**
 * @param reader of the request's images
 * @throws InvalidRequestError for an image that the model can't take; as TextEncoder.embed, ImageTower.embed
 *   and ImageReader.read
 */
export async function embedMixed(
  runtime: EmbeddingRuntime,
  inputs: readonly MixedInput[],
  options: EmbedOptions,
  caller: Caller,
  reader: ImageReader,
): Promise<Embeddings> {
  const { encoder } = runtime;
  const parts = inputs.filter(isImage);
  const texts = inputs.filter(isText);
  const tower = towerFor(runtime, parts);
  if (tower === null || parts.length === 0) return await encoder.embed(texts, options, caller);
  const read = await reader.read(parts, caller);
  const files = read.map(({ file }) => file);
  const ofImages = await tower.embed(files, options, caller);
  const places = [...inputs.keys()].filter((at) => isText(inputs[at] ?? ''));
  const ofTexts =
    texts.length === 0
      ? { vectors: [], tokenCounts: [], numTokens: 0 }
      : await encoder.embed(texts, options, caller).catch((error: unknown) => {
          throw placedIn(places, error);
        });
  const numTokens = ofImages.numTokens + ofTexts.numTokens;
  if (caller.record) caller.record.numPromptTokens = numTokens;
  return {
    vectors: inOrder(inputs, ofImages.vectors, ofTexts.vectors),
    tokenCounts: inOrder(inputs, ofImages.tokenCounts, ofTexts.tokenCounts),
    numTokens,
  };
}

/**
 * Scores of pairs: of texts as the model has them, or cosines where it embeds images too, as vLLM has it, with
 * the model's logits.
 * @param sides the first has one for all of the second, or as many @throws as embedMixed and TextEncoder.score
 */
export async function scoreMixed(
  runtime: EmbeddingRuntime,
  [first, second]: readonly [readonly MixedInput[], readonly MixedInput[]],
  options: EmbedOptions,
  caller: Caller,
  reader: ImageReader,
): Promise<Scores> {
  const inputs = [...first, ...second];
  const tower = towerFor(runtime, inputs.filter(isImage));
  const other = (at: number) => (first.length === 1 ? 0 : at);
  if (tower === null) {
    const [queries, documents] = [first.filter(isPlain), second.filter(isPlain)];
    const pairs = documents.map((each, at) => [queries[other(at)] ?? '', each] as const);
    return await runtime.encoder.score(pairs, options, caller);
  }
  const { vectors, numTokens } = await embedMixed(runtime, inputs, options, caller, reader);
  const scores = Float32Array.from(second, (_each, at) =>
    dot(vectors[other(at)], vectors[first.length + at]),
  );
  const { factor, bias } = tower.scale;
  return { scores, logits: scores.map((score) => factor * score + bias), numTokens };
}

/** @returns null for a model that takes texts alone @throws InvalidRequestError if it is given images */
function towerFor(
  { images, model }: EmbeddingRuntime,
  [first]: readonly ImagePart[],
): ImageTower | null {
  if (images || first === undefined) return images ?? null;
  const message = `\`${first.field}\`: the model \`${model.id}\` takes texts only, and no images.`;
  throw new InvalidRequestError(message, first.field, 'model_not_supported');
}

function inOrder<Made>(
  inputs: readonly MixedInput[],
  ofImages: readonly Made[],
  ofTexts: readonly Made[],
): Made[] {
  const [images, texts] = [ofImages.values(), ofTexts.values()];
  return inputs.flatMap((input) => {
    const { value } = (isImage(input) ? images : texts).next();
    return value === undefined ? [] : [value];
  });
}

function isPlain(input: MixedInput): input is string {
  return typeof input === 'string';
}

function dot(a: Float32Array | undefined, b: Float32Array | undefined): number {
  return a?.reduce((sum, value, at) => sum + value * (b?.[at] ?? 0), 0) ?? 0;
}

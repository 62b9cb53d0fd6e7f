import { join } from 'node:path';
import { type DecoderConfig, parseDecoderConfig } from '../../model/huggingface/config.ts';
import { readGgufConfig } from '../../model/gguf/gguf-config.ts';
import { GgufFile } from '../../model/gguf/gguf-file.ts';
import { readJson } from '../../model/huggingface/json-file.ts';
import { RandomWeights } from '../../model/huggingface/random-weights.ts';
import { SafetensorsWeights, SINGLE_FILE } from '../../model/huggingface/safetensors.ts';
import { MULTIMODAL_TYPES } from '../../model/huggingface/text-config.ts';
import type { WeightSource } from '../../model/huggingface/weights.ts';
import { inspectModelFolder } from '../../model/folder/model-folder.ts';
import { ModelError } from '../../model/model-error.ts';
import type { ModelSource } from '../../model/build/model-source.ts';
import { QuantizedWeights } from '../../model/quantized/quantized-weights.ts';
import { layerTensors, outerTensors } from './model-tensors.ts';
import { FLOAT_DTYPES, type FloatDtype } from './safetensors-file.ts';

/** A model that steps are applied to. */
export interface Checkpoint {
  /** config.json */
  readonly json: Readonly<Record<string, unknown>>;
  readonly config: DecoderConfig;
  readonly weights: WeightSource;
  /** The type that a tensor is stored in. */
  readonly dtypeOf: (tensor: string) => FloatDtype;
}

/**
 * Opens what optimize begins with: floats in safetensors, the values of a GGUF model, of which integers
 * become float16, or a shape with random weights.
 * @throws {ModelError} if it is something else
 */
export async function openSource(source: ModelSource): Promise<Checkpoint> {
  if (source.kind === 'random') {
    const config = parseDecoderConfig(source.config, 'the configuration');
    requirePlainLayers(config, 'optimize');
    const weights = new RandomWeights(source.seed);
    return { json: asObject(source.config), config, weights, dtypeOf: () => 'F16' };
  }
  const folder = await inspectModelFolder(source.path);
  const { path } = folder;
  if (folder.kind === 'export') {
    throw new ModelError(`${path} is an ONNX export: optimize takes safetensors or GGUF`);
  }
  requirePlainLayers(folder.config, 'optimize');
  if (folder.kind === 'gguf') {
    const weights = await folder.open();
    const json = await ggufJson(path);
    return { json, config: folder.config, weights, dtypeOf: (name) => ggufDtype(weights, name) };
  }
  const { config } = folder;
  if (config.quantization !== null) {
    const { method } = config.quantization;
    throw new ModelError(`${path} is quantized already (${method}): optimize takes floats`);
  }
  const json = asObject(await readJson(join(path, 'config.json')));
  if ((MULTIMODAL_TYPES as readonly unknown[]).includes(json['model_type'])) {
    throw new ModelError(`${path} is multimodal: optimize takes text models`);
  }
  // Steps read this again: what the files hold counts, see own-head.ts.
  const stated = config.tieWordEmbeddings ? json : { ...json, tie_word_embeddings: false };
  return openFloats(folder.weightFiles, stated, config);
}

/** Opens what a step has written. */
export async function openStep(folder: string): Promise<Checkpoint> {
  const origin = join(folder, 'config.json');
  const json = asObject(await readJson(origin));
  const config = parseDecoderConfig(json, origin);
  return openFloats([join(folder, SINGLE_FILE)], json, config);
}

/** Opens a file with a layer of a checkpoint. */
export async function openLayer(path: string, config: DecoderConfig): Promise<WeightSource> {
  const plain = await SafetensorsWeights.open([path]);
  const { quantization } = config;
  return quantization === null ? plain : QuantizedWeights.open(plain, quantization);
}

async function openFloats(
  files: readonly string[],
  json: Checkpoint['json'],
  config: DecoderConfig,
): Promise<Checkpoint> {
  const plain = await SafetensorsWeights.open(files);
  try {
    requireKnown(plain, config);
  } catch (error) {
    await plain.close();
    throw error;
  }
  const { quantization } = config;
  const weights = quantization ? await QuantizedWeights.open(plain, quantization) : plain;
  const dtypeOf = (tensor: string) => {
    const dtype = FLOAT_DTYPES.find((each) => each === plain.entry(tensor)?.dtype);
    if (dtype !== undefined) return dtype;
    throw new ModelError(`tensor "${tensor}" is not stored in floats`);
  };
  return { json, config, weights, dtypeOf };
}

/**
 * Steps, calibrations and their graphs know one MLP with gates in each layer, after the attention, norms
 * without a bias, and rotary positions.
 * @param what takes no other models
 * @throws {ModelError} for these
 */
export function requirePlainLayers(
  { experts, family, parallelResidual, recurrence, latent }: DecoderConfig,
  what: string,
): void {
  if (experts !== null) {
    throw new ModelError(`the model has experts: ${what} takes models with one MLP in each layer`);
  }
  if (recurrence !== undefined) {
    throw new ModelError(
      `the model has layers with states: ${what} takes models whose layers attend`,
    );
  }
  if (latent !== undefined) {
    throw new ModelError(
      `the model has keys and values from latents: ${what} takes models with these from the hidden state`,
    );
  }
  if (family.varied !== undefined) {
    throw new ModelError(
      `the model has layers with different heads: ${what} takes models whose layers are alike`,
    );
  }
  const isPlain = !parallelResidual && family.gatesMlp && family.norms === 'rms';
  if (!isPlain || family.storesTransposed || family.tensors.positions !== null) {
    throw new ModelError(
      `${what} takes models with rotary positions and norms without a mean, whose MLPs have gates and come after the attention: not ${family.modelType}`,
    );
  }
}

/** Tensors that a model computes by itself, but older checkpoints store. */
const DERIVED = /rotary_emb\.inv_freq$/;

/** A tensor that nobody reads would be missing from the result, and the model may be another one. */
function requireKnown(weights: SafetensorsWeights, config: DecoderConfig): void {
  if (config.quantization !== null) return;
  const { before, after } = outerTensors(config);
  const known = new Set([...before, ...after].map(({ name }) => name));
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const { name } of layerTensors(config, layer)) known.add(name);
  }
  // A tied head may be stored all the same.
  known.add(`${config.family.tensors.lmHead}.weight`);
  for (const name of weights.names()) {
    if (known.has(name) || DERIVED.test(name)) continue;
    throw new ModelError(`optimize does not know the tensor "${name}" in this kind of model`);
  }
}

async function ggufJson(path: string): Promise<Checkpoint['json']> {
  const file = await GgufFile.open(path);
  try {
    return (await readGgufConfig(file)).json;
  } finally {
    await file.close();
  }
}

/** Floats stay as they are. Products of integers and scales in float16 fit that, too. */
function ggufDtype(weights: WeightSource, tensor: string): FloatDtype {
  const type = weights.typeOf?.(tensor);
  return FLOAT_DTYPES.find((each) => each === type) ?? 'F16';
}

function asObject(json: unknown): Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null ? { ...json } : {};
}

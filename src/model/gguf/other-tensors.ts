import type { DecoderConfig } from '../huggingface/config.ts';
import { ModelError } from '../model-error.ts';
import type { Architecture } from './architectures.ts';
import { fusedName } from './fused-tensors.ts';
import type { GgufFile } from './gguf-file.ts';
import { latentParts } from './latent-tensors.ts';
import { tensorPlaces } from './tensor-names.ts';

const OF_LAYER = /^blk\.(?<layer>\d+)\.(?<base>.+?)(?<end>\.(?:weight|bias|scale))?$/;

/** Frequencies of rotary embedding, which the first files have by layer. */
const UNUSED = 'attn_rot_embd';

/**
 * llama.cpp reads all tensors of a file. What is in a layer and is not built would be missing from results: such
 * as norms or biases of a model that is not as others of its architecture.
 * @throws {ModelError} naming the first of them
 */
export function rejectOtherTensors(
  file: GgufFile,
  config: DecoderConfig,
  architecture: Architecture,
): void {
  const read = new Set<string>();
  for (const { name, suffix } of tensorPlaces(config, architecture).values()) {
    read.add(name).add(name + (suffix ?? '.weight'));
    const { keys, values } = latentParts(name);
    read.add(keys).add(values);
    const fused = fusedName(file, `${name}.weight`);
    if (fused !== null) read.add(fused.slice(0, -'.weight'.length));
  }
  const [path = ''] = file.paths;
  const reject = (tensor: string): never => {
    throw new ModelError(
      `${path}: tensor "${tensor}" is not supported in ${architecture.architecture}`,
    );
  };
  if (file.tensor('output.bias') && !config.lmHeadBias) reject('output.bias');
  for (const tensor of file.names()) {
    const { layer, base: named = '', end } = OF_LAYER.exec(tensor)?.groups ?? {};
    // An expert's matrix may be by itself.
    const base = named.replace(/^(ffn_\w+)\.\d+$/, '$1_exps');
    if (layer === undefined || Number(layer) >= config.numLayers || base === UNUSED) continue;
    const isRead =
      read.has(tensor) ||
      (end !== '.scale' && read.has(`blk.${layer}.${base}`) && !isOtherBias(base, end, config));
    if (!isRead) reject(tensor);
  }
}

/** Whether it is a bias where the model is built without. */
function isOtherBias(base: string, end: string | undefined, config: DecoderConfig): boolean {
  if (end !== '.bias') return false;
  if (base.endsWith('norm')) return config.family.norms !== 'layer';
  if (/^attn_(?:q|k|v|qkv)$/.test(base)) return !config.queryKeyValueBias;
  if (base === 'attn_output') return !config.attentionOutputBias;
  if (/^ffn_(?:gate|up|down)$/.test(base)) return !config.mlpBias;
  return /^ffn_(?:gate_inp|(?:gate|up|down|gate_up)_exps)$/.test(base) && !config.experts?.bias;
}

import { ModelError } from '../model-error.ts';
import type { GgufFile } from './gguf-file.ts';

/** Architectures of llama.cpp's that make vectors of texts, and no texts. */
const EMBEDDING = new Set([
  'bert',
  'modern-bert',
  'nomic-bert',
  'nomic-bert-moe',
  'neo-bert',
  'jina-bert-v2',
  'jina-bert-v3',
  'eurobert',
  'gemma-embedding',
  't5encoder',
]);

/** By `general.type` or `general.architecture`: what a file is, and what helps, as the rest of a sentence. */
const OTHERS: ReadonlyMap<string, string> = new Map([
  [
    'adapter',
    'is a LoRA adapter, not a model: adapters are read in the form of PEFT (adapter_config.json and ' +
      'adapter_model.safetensors), which --adapter takes',
  ],
  [
    'clip',
    'is the part of a model that sees (mmproj), not the model: serve the file of the text model; this one is ' +
      'found beside it, or named by --mmproj',
  ],
  ['imatrix', 'has statistics for quantizing a model (imatrix), and no model'],
  [
    'gptoss',
    "is gpt-oss in a form that only Ollama has: take a file in llama.cpp's form, such as hf:ggml-org/gpt-oss-20b-GGUF",
  ],
]);

/** @throws {ModelError} for what comes in GGUF files beside models that write, saying what it is */
export function requireTextModel(file: GgufFile): void {
  const { metadata, paths } = file;
  const [path = ''] = paths;
  const architecture = metadata.string('general.architecture') ?? '';
  const other = OTHERS.get(metadata.string('general.type') ?? '') ?? OTHERS.get(architecture);
  if (other !== undefined) throw new ModelError(`${path} ${other}`);
  if (EMBEDDING.has(architecture)) {
    throw new ModelError(
      `${path} is an embedding model ("${architecture}"): those are served from safetensors or ONNX, not from GGUF`,
    );
  }
}

/** @throws {ModelError} if there are none */
export function requireWeights(file: GgufFile): void {
  const [any] = file.names();
  if (any !== undefined) return;
  const [path = ''] = file.paths;
  throw new ModelError(`${path} has a vocabulary and no weights: it is no whole model`);
}

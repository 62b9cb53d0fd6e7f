import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import PQueue from 'p-queue';
import type { ModelDefinition } from '../../front/registry/model-definition.ts';
import { generationDefaults, readGenerationDefaults } from '../../front/text/generation-config.ts';
import { readTokenizerConfig } from '../../front/text/tokenizer-files.ts';
import { inspectDual } from '../../model/dual/dual-folder.ts';
import { inspectEncoderFolder } from '../../model/encoder/encoder-folder.ts';
import { GENAI_CONFIG, readGenaiConfig } from '../../model/export/export-folder.ts';
import { statedFileType } from '../../model/gguf/file-type.ts';
import { readGgufBeginning } from '../../model/gguf/gguf-beginning.ts';
import { ggufModels, isGguf } from '../../model/gguf/gguf-names.ts';
import { ggufSamplingDefaults } from '../../model/gguf/text/sampling-defaults.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { measure } from '../../model/download/cached-models.ts';
import { isRemote } from '../../model/remotes/remotes.ts';
import { madeTextFolder } from '../../model/tokenizer/made-text-folder.ts';
import { parseDecoderConfig } from '../../model/huggingface/config.ts';
import { readJson } from '../../model/huggingface/json-file.ts';
import { inspectSpeech } from '../../model/speech/speech-folder.ts';
import { canSee } from '../../model/vision/vision-folder.ts';
import { SHARD_INDEX, SINGLE_FILE } from '../../model/huggingface/safetensors.ts';
import type { ModelFacts } from '../../server/context.ts';
import { capabilitiesOfEncoder, capabilitiesOfText } from '../../server/describe-models.ts';
import { kindOf } from '../loading/encoder-loader.ts';

/** Folders that are looked into at once. */
const LOOKS_AT_ONCE = 4;

const LENGTH_FLAG = 'max-model-len';

/**
 * Facts about models from their small files, for lists of models that are not loaded. Each definition
 * is inspected once: another follows when its files change. No graph and no weight is read.
 */
export class FolderFacts {
  readonly #maxModelLen: number | null;
  readonly #looks = new PQueue({ concurrency: LOOKS_AT_ONCE });
  readonly #known = new WeakMap<ModelDefinition, Promise<ModelFacts | null>>();

  /** @param maxModelLen of the command line; null without one */
  constructor(maxModelLen: number | null) {
    this.#maxModelLen = maxModelLen;
  }

  /** @returns null where nothing is known: elsewhere, or in a folder that can't be served */
  of(definition: ModelDefinition): Promise<ModelFacts | null> {
    let facts = this.#known.get(definition);
    if (facts === undefined) {
      facts = this.#looks.add(() => this.#look(definition)).catch(() => null);
      this.#known.set(definition, facts);
    }
    return facts;
  }

  async #look({ source, problem, flags }: ModelDefinition): Promise<ModelFacts | null> {
    if (problem !== null || isRemote(source)) return null;
    const path = resolve(source);
    const bytes = isGguf(path) ? (await stat(path)).size : (await measure(path)).bytes;
    switch (await kindOf(path)) {
      case 'tensors':
        return { ...GRAPH, maxModelLen: null, capabilities: ['infer'], bytes };
      case 'encoder': {
        const { kind, maxTokens, graph } = await inspectEncoderFolder(path);
        const takesImages = (await inspectDual(path)) !== null;
        const capabilities = capabilitiesOfEncoder(kind, takesImages);
        const format = graph.type === 'weights' ? 'safetensors' : 'onnx';
        return { ...GRAPH, format, maxModelLen: maxTokens, capabilities, bytes };
      }
      case 'text': {
        const wanted = flags[LENGTH_FLAG] === undefined ? this.#maxModelLen : flags[LENGTH_FLAG];
        const facts = await decoderFactsOf(path);
        const maxModelLen = typeof wanted === 'number' ? wanted : facts.maxModelLen;
        // A GGUF file's template is behind its vocabulary, which takes a while to read.
        const canChat = !isGguf(path) && (await hasTemplate(path));
        const sees = canChat && (await canSee(path));
        const hears = (await inspectSpeech(path)) !== null;
        const capabilities = hears ? ['transcription'] : capabilitiesOfText(canChat, sees);
        return { ...facts, maxModelLen, capabilities, bytes };
      }
    }
  }
}

/** A graph that says nothing else of itself. */
const GRAPH = { family: null, format: 'onnx', quantization: null, samplingDefaults: {} } as const;

type DecoderFacts = Omit<ModelFacts, 'capabilities' | 'bytes'>;

/** Null each where it is not in a small file, or in the first bytes of a large one. */
async function decoderFactsOf(path: string): Promise<DecoderFacts> {
  if (isGguf(path)) return ggufFactsOf(path);
  const names = await readdir(path);
  const samplingDefaults = await readGenerationDefaults(path);
  if (names.includes(GENAI_CONFIG)) {
    const { type: family, context_length: maxModelLen } = await readGenaiConfig(path);
    return { ...GRAPH, family, maxModelLen, samplingDefaults };
  }
  const [gguf] = ggufModels(names);
  if (!names.includes('config.json')) {
    return gguf === undefined ? { ...GRAPH, maxModelLen: null } : ggufFactsOf(join(path, gguf));
  }
  const origin = join(path, 'config.json');
  const { family, maxPositionEmbeddings } = parseDecoderConfig(await readJson(origin), origin);
  const hasWeights = names.includes(SINGLE_FILE) || names.includes(SHARD_INDEX);
  return {
    ...GRAPH,
    family: family.modelType,
    format: hasWeights ? 'safetensors' : 'onnx',
    maxModelLen: maxPositionEmbeddings,
    samplingDefaults,
  };
}

async function ggufFactsOf(path: string): Promise<DecoderFacts> {
  const metadata = await readGgufBeginning(path);
  const family = metadata.string('general.architecture') ?? null;
  return {
    family,
    format: 'gguf',
    quantization: statedFileType(metadata),
    maxModelLen: metadata.number(`${family}.context_length`) ?? null,
    samplingDefaults: generationDefaults(ggufSamplingDefaults(metadata, path)),
  };
}

async function hasTemplate(path: string): Promise<boolean> {
  const folder = await madeTextFolder(path, defaultCacheDirectory());
  return (await readTokenizerConfig(folder)).chatTemplates.size > 0;
}

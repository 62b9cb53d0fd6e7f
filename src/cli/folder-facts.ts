import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import PQueue from 'p-queue';
import type { ModelDefinition } from '../front/registry/model-definition.ts';
import { readTokenizerConfig } from '../front/text/tokenizer-files.ts';
import { inspectEncoderFolder } from '../model/encoder/encoder-folder.ts';
import { GENAI_CONFIG, readGenaiConfig } from '../model/export/export-folder.ts';
import { isGguf } from '../model/gguf/gguf-names.ts';
import { measure } from '../model/hub/hub-cache.ts';
import { isHubReference } from '../model/hub/hub-repository.ts';
import { parseDecoderConfig } from '../model/huggingface/config.ts';
import { readJson } from '../model/huggingface/json-file.ts';
import type { ModelFacts } from '../server/context.ts';
import { kindOf } from './encoder-loader.ts';

/** Folders that are looked into at once. */
const LOOKS_AT_ONCE = 4;

const LENGTH_FLAG = 'max-model-len';

/**
 * What models' small files say of them, for lists of models that are not loaded. Each definition is looked
 * at once: another follows when its files change. No graph and no weight is read.
 */
export class FolderFacts {
  readonly #maxModelLen: number | null;
  readonly #looks = new PQueue({ concurrency: LOOKS_AT_ONCE });
  readonly #known = new WeakMap<ModelDefinition, Promise<ModelFacts | null>>();

  /** @param maxModelLen of the command line; null without one */
  constructor(maxModelLen: number | null) {
    this.#maxModelLen = maxModelLen;
  }

  /** @returns null where nothing is known: on the hub, or in a folder that can't be served */
  of(definition: ModelDefinition): Promise<ModelFacts | null> {
    let facts = this.#known.get(definition);
    if (facts === undefined) {
      facts = this.#looks.add(() => this.#look(definition)).catch(() => null);
      this.#known.set(definition, facts);
    }
    return facts;
  }

  async #look({ source, problem, flags }: ModelDefinition): Promise<ModelFacts | null> {
    if (problem !== null || isHubReference(source)) return null;
    const path = resolve(source);
    const bytes = isGguf(path) ? (await stat(path)).size : (await measure(path)).bytes;
    switch (await kindOf(path)) {
      case 'tensors':
        return { maxModelLen: null, capabilities: ['infer'], bytes };
      case 'encoder': {
        const { kind, maxTokens } = await inspectEncoderFolder(path);
        const capabilities = kind === 'embedding' ? ['embeddings'] : ['rerank', 'score'];
        return { maxModelLen: maxTokens, capabilities, bytes };
      }
      case 'text': {
        const wanted = flags[LENGTH_FLAG] === undefined ? this.#maxModelLen : flags[LENGTH_FLAG];
        const own = await contextOf(path);
        const maxModelLen = typeof wanted === 'number' ? wanted : own;
        // What a GGUF file says is behind its vocabulary, which takes a while to read.
        const canChat = !isGguf(path) && (await readTokenizerConfig(path)).chatTemplates.size > 0;
        const capabilities = canChat ? ['completions', 'chat'] : ['completions'];
        return { maxModelLen, capabilities, bytes };
      }
    }
  }
}

/** Null where it is not in a small file. */
async function contextOf(path: string): Promise<number | null> {
  const isThere = async (name: string) => (await stat(join(path, name)).catch(() => null)) !== null;
  if (await isThere(GENAI_CONFIG)) return (await readGenaiConfig(path)).context_length;
  if (!(await isThere('config.json'))) return null;
  const origin = join(path, 'config.json');
  return parseDecoderConfig(await readJson(origin), origin).maxPositionEmbeddings;
}

/** Names of models as they run: equal where the same request gets the same answer, on any machine. */
import { readdir } from 'node:fs/promises';
import { cpus } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { readBounded } from '../../files/read-bounded.ts';
import type { TextTokenizer } from '../../front/text/tokenizer.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { contentHash, sha256 } from '../../model/cache/content-hash.ts';
import type { BuiltModel } from '../../model/manifest.ts';
import { inspectEncoderFolder } from '../../model/encoder/encoder-folder.ts';
import { filesOf } from '../../model/export/export-folder.ts';
import { madeTextFolder } from '../../model/tokenizer/made-text-folder.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';

export interface TextBuild {
  readonly model: BuiltModel;
  /** The part that sees; null of a model that takes text alone. */
  readonly tower: {
    /** File of its weights, where they are not with the model's. */
    readonly mmproj: string | null;
    /** As of --vision-precision. */
    readonly precision: string;
    /** As of --image-max-tokens, where it counts. */
    readonly maxTokens: number | null;
  } | null;
  readonly tokenizer: Pick<TextTokenizer, 'idToToken' | 'addedTexts' | 'pieces'>;
  /** Device that computes, such as `cpu`, and the name of its adapter. */
  readonly device: string;
  readonly runtimeVersion: string;
  readonly attention: string;
}

export interface TextBuildIds {
  readonly buildId: string;
  /** The same whatever computes it, next to whatever adapters. */
  readonly contentId: string;
}

/** @throws ModelError when a file can't be read */
export async function textBuildIds({
  model,
  tower,
  tokenizer,
  ...how
}: TextBuild): Promise<TextBuildIds> {
  const { kernels, vocabSize } = model.manifest;
  // Our own kernels give the same bits on every CPU; ONNX Runtime's do not promise that.
  const isSame = kernels === 'native' && tower === null;
  const processor = isSame ? '' : `${process.arch} ${cpus()[0]?.model ?? ''}`;
  // A build's folder is named after what it was built from, weights included.
  const build = basename(dirname(model.graphPath));
  const tokens = Array.from({ length: vocabSize }, (_, id) => tokenizer.idToToken(id) ?? null);
  const { addedTexts, pieces } = tokenizer;
  const texts = sha256(JSON.stringify({ tokens, addedTexts, rule: pieces.rule }));
  const mmproj = tower?.mmproj ?? null;
  const files = mmproj === null ? {} : { mmproj: await hashesOf([mmproj]) };
  const most = tower?.maxTokens === null ? {} : { maxTokens: tower?.maxTokens };
  const seen = tower === null ? {} : { ...files, tower: tower.precision, ...most };
  return {
    buildId: sha256(JSON.stringify({ build, kernels, texts, processor, ...seen, ...how })),
    contentId: sha256(JSON.stringify({ content: model.contentId, kernels, texts, ...files })),
  };
}

/** Build id of a model with tensors in and out. @throws ModelError when a file can't be read */
export async function graphBuildId(
  files: readonly string[],
  isBatched: boolean | null,
): Promise<string> {
  return sha256(JSON.stringify({ isBatched, hashes: await hashesOf(files) }));
}

/** Files that say how weights are used, and how texts become tokens: the token that fills them up, too. */
const SMALL_FILES = ['config.json', 'tokenizer_config.json', 'special_tokens_map.json'];

/** @throws ModelError when a file can't be read */
export async function encoderBuildId(folder: string, precision: string): Promise<string> {
  const { path, graph, ...facts } = await inspectEncoderFolder(folder);
  const weights = graph.type === 'export' ? await withData(graph.file) : graph.files;
  const dense = facts.modules.dense.map(({ file }) => file);
  const tokenizer = join(await madeTextFolder(path, defaultCacheDirectory()), 'tokenizer.json');
  const hashes = await hashesOf([...weights, ...dense, tokenizer]);
  const texts = await textsOf(path, SMALL_FILES);
  const { maxTokens, modules, textEnd } = facts;
  const end = textEnd === null ? {} : { textEnd };
  const { dense: _files, ...told } = modules;
  return sha256(
    JSON.stringify({ precision, maxTokens, facts: facts.facts, told, ...end, texts, hashes }),
  );
}

/** A graph, and the files beside it that have its weights. */
async function withData(file: string): Promise<readonly string[]> {
  const folder = dirname(file);
  return filesOf(
    file,
    (await readdir(folder)).map((name) => join(folder, name)),
  );
}

/** Hashes of files of a folder as they are, since any field of theirs may count; null for one that is missing. */
async function textsOf(
  folder: string,
  names: readonly string[],
): Promise<readonly (string | null)[]> {
  const present = await readdir(folder);
  const read = (name: string) => readBounded(join(folder, name), MODEL_LIMITS.textFileBytes);
  return await Promise.all(
    names.map(async (name) =>
      present.includes(name) ? sha256((await read(name)).toString()) : null,
    ),
  );
}

async function hashesOf(files: readonly string[]): Promise<readonly string[]> {
  const index = join(defaultCacheDirectory(), 'content-hashes');
  const hashes: string[] = [];
  for (const file of files) hashes.push(await contentHash(file, index));
  return hashes;
}

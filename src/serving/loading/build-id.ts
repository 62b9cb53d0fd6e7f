/** Names of models as they run: equal where the same request gets the same answer, on any machine. */
import { createHash } from 'node:crypto';
import { cpus } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { TextTokenizer } from '../../front/text/tokenizer.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { contentHash, sha256 } from '../../model/cache/content-hash.ts';
import type { BuiltModel } from '../../model/manifest.ts';
import { inspectEncoderFolder } from '../../model/encoder/encoder-folder.ts';

export interface TextBuild {
  readonly model: BuiltModel;
  readonly tokenizer: Pick<TextTokenizer, 'pieces'>;
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

export function textBuildIds({ model, tokenizer, ...how }: TextBuild): TextBuildIds {
  const { kernels, vocabSize } = model.manifest;
  // Our own kernels give the same bits on every CPU; ONNX Runtime's do not promise that.
  const processor = kernels === 'native' ? '' : `${process.arch} ${cpus()[0]?.model ?? ''}`;
  // A build's folder is named after what it was built from, weights included.
  const build = basename(dirname(model.graphPath));
  const pieces = createHash('sha256');
  for (let id = 0; id < vocabSize; id++) {
    const piece = tokenizer.pieces.get(id) ?? '';
    pieces.update(`${id} ${piece.length} `).update(piece);
  }
  const texts = pieces.digest('hex');
  return {
    buildId: sha256(JSON.stringify({ build, kernels, texts, processor, ...how })),
    contentId: sha256(JSON.stringify({ content: model.contentId, kernels, texts })),
  };
}

/** @throws ModelError when a file can't be read */
export async function encoderBuildId(folder: string, precision: string): Promise<string> {
  const { path, graph, ...facts } = await inspectEncoderFolder(folder);
  const weights = graph.type === 'export' ? [graph.file] : graph.files;
  const dense = facts.modules.dense.map(({ file }) => file);
  const index = join(defaultCacheDirectory(), 'content-hashes');
  const hashes: string[] = [];
  for (const file of [...weights, ...dense, join(path, 'tokenizer.json')]) {
    hashes.push(await contentHash(file, index));
  }
  const { maxTokens, modules } = facts;
  const { dense: _files, ...told } = modules;
  return sha256(JSON.stringify({ precision, maxTokens, facts: facts.facts, told, hashes }));
}

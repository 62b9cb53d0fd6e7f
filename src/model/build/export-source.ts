import { writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { ExternalDataWriter } from '../../onnx/external-data.ts';
import { MAX_INLINE_BYTES } from '../../onnx/graph-builder.ts';
import type { GraphRewriter } from '../../onnx/graph-rewriter.ts';
import type { TensorProto } from '../../onnx/onnx_pb.ts';
import { isExternal, movedTensor } from '../../onnx/protos.ts';
import type { BuildOptions } from './build-options.ts';
import { contentHash } from '../cache/content-hash.ts';
import {
  type DecoderSource,
  GRAPH_FILE,
  MIXED_GRAPH_FILE,
  WEIGHTS_FILE,
} from './decoder-source.ts';
import { ModelError } from '../model-error.ts';
import { type ExportFolder, type ExportVariant, readExport } from '../export/export-folder.ts';
import { rewriteExport } from '../export/export-graph.ts';
import { requireFiniteWeights } from '../export/finite-initializers.ts';

/**
 * Graphs rewritten from an export's. Weights in separate files stay there.
 * @throws {ModelError} when it has no graph of the wanted precision
 */
export function exportSource(folder: ExportFolder, options: BuildOptions): DecoderSource {
  const { file } = variantFor(folder, options);
  const { config, path } = folder;
  return {
    facts: config,
    weightsFolder: dirname(file),
    // For weights in other files, rewritten graphs contain only their location.
    identity: (cacheDirectory) => contentHash(file, join(cacheDirectory, 'content-hashes')),
    write: async (target, { onProgress }, { kvScales }) => {
      const origin = relative(path, file);
      const exported = await readExport(file, config);
      const { facts } = exported;
      if (kvScales && facts.activationDtype !== 'float32') {
        throw new ModelError(`${origin} computes in float16, which has no int8 KV cache`);
      }
      const decoder = rewriteExport(exported, [''], kvScales, origin);
      await requireFiniteWeights(decoder.usedInitializers(), dirname(file), file);
      const mixed = rewriteExport(exported, ['', 'prefill.'], kvScales, origin);
      const stored = await storeWeights(decoder, join(target, WEIGHTS_FILE), onProgress);
      for (const [name, graph] of Object.entries({
        [GRAPH_FILE]: decoder,
        [MIXED_GRAPH_FILE]: mixed,
      })) {
        await writeFile(join(target, name), graph.toBytes(stored), { flush: true });
      }
      return {
        family: config.family,
        precision: facts.precision,
        activationDtype: facts.activationDtype,
        kvCacheDtype: kvScales ? 'int8' : facts.activationDtype,
        kernels: 'onnxruntime',
        numLayers: facts.numLayers,
        numKvHeads: facts.numKvHeads,
        headDim: facts.headDim,
        vocabSize: config.vocabSize,
        maxPositionEmbeddings: Math.min(config.maxPositionEmbeddings, facts.maxPositions),
        numParameters: facts.numParameters,
      };
    },
  };
}

function variantFor(
  { path, variants }: ExportFolder,
  { precision, activationDtype }: BuildOptions,
): ExportVariant {
  const alike = variants.filter((variant) => variant.precision === precision);
  const variant = alike.find((each) => each.activationDtype === activationDtype) ?? alike[0];
  if (variant) return variant;
  const names = variants.map(({ file, ...each }) => `${each.precision} (${relative(path, file)})`);
  throw new ModelError(`${path} has no graph in ${precision}, only in ${names.join(', ')}`);
}

/**
 * Writes an export's weights to a file of their own, so that sessions share them; unless most of them
 * are in such files already.
 * @returns the tensors as graphs are to have them, by name
 */
async function storeWeights(
  graph: GraphRewriter,
  path: string,
  onProgress: BuildOptions['onProgress'],
): Promise<Map<string, TensorProto>> {
  const stored = new Map<string, TensorProto>();
  const weights = graph.usedInitializers();
  if (weights.some(isExternal)) return stored;
  const big = weights.filter(({ rawData }) => rawData.byteLength > MAX_INLINE_BYTES);
  const total = big.reduce((sum, { rawData }) => sum + rawData.byteLength, 0);
  const data = await ExternalDataWriter.create(path);
  try {
    let done = 0;
    for (const tensor of big) {
      const span = await data.append(tensor.rawData);
      stored.set(tensor.name, movedTensor(tensor, WEIGHTS_FILE, span));
      done += span.length;
      onProgress?.(done, total, tensor.name);
    }
    await data.sync();
  } finally {
    await data.close();
  }
  return stored;
}

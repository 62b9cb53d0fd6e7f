import type { KernelSet } from '../manifest.ts';
import {
  adapterInputs,
  type AdapterInput,
  type AdapterType,
  liveMatrixName,
} from '../graph/live-adapter-shape.ts';
import { adapterPool, LowRankLayout } from '../native/low-rank-layout.ts';
import type { MatrixSource } from '../huggingface/matrix-source.ts';
import type { LowRankPair } from '../native/low-rank-pair.ts';

/** Content of one slot of an input. */
export interface AdapterTensor {
  readonly input: AdapterInput;
  readonly values: Float32Array | Uint8Array;
}

/** How graphs of some kernels take adapters of a linear layer. */
export interface AdapterFormat {
  inputs(matrix: MatrixSource, maxRank: number): readonly AdapterInput[];
  /**
   * @param pairs by part of the layer; null for those that the adapter leaves as they are
   * @returns of the inputs, those that are not all zeros
   */
  tensors(
    matrix: MatrixSource,
    maxRank: number,
    pairs: readonly (LowRankPair | null)[],
  ): readonly AdapterTensor[];
}

/** Both matrices in float32, with zeros up to the largest rank. */
const FLOATS: AdapterFormat = {
  inputs: (matrix, maxRank) =>
    matrix.tensors.flatMap((_, part) => floatInputs(matrix, part, maxRank)),

  tensors: (matrix, maxRank, pairs) =>
    pairs.flatMap((pair, part) => {
      if (pair === null) return [];
      const { rank, a, b } = pair;
      const [down, up] = floatInputs(matrix, part, maxRank);
      const ofDown = new Float32Array(maxRank * down.columns);
      ofDown.set(a);
      const ofUp = new Float32Array(maxRank * up.columns);
      for (const [at, value] of b.entries()) {
        ofUp[(at % rank) * up.columns + Math.floor(at / rank)] = value;
      }
      return [
        { input: down, values: ofDown },
        { input: up, values: ofUp },
      ];
    }),
};

/** One block of memory for all of a layer, in float16. */
const POOLS: AdapterFormat = {
  inputs: (matrix, maxRank) => [poolInput(matrix, maxRank)],

  tensors(matrix, maxRank, pairs) {
    if (pairs.every((pair) => pair === null)) return [];
    const values = poolLayout(matrix, maxRank).pack(pairs);
    return [{ input: poolInput(matrix, maxRank), values }];
  },
};

export const ADAPTER_FORMATS: Readonly<Record<KernelSet, AdapterFormat>> = {
  onnxruntime: FLOATS,
  native: POOLS,
};

/** Element types, as safetensors names them. */
export const ADAPTER_DTYPES: Readonly<Record<AdapterType, string>> = { float: 'F32', uint8: 'U8' };

function floatInputs({ name, tensors, columns }: MatrixSource, part: number, maxRank: number) {
  const [down, up] = adapterInputs(liveMatrixName(name, part));
  const input = (of: string, width: number) =>
    ({ name: of, type: 'float', rows: maxRank, columns: width }) as const;
  return [input(down, columns), input(up, tensors[part]?.rows ?? 0)] as const;
}

function poolLayout({ tensors, columns }: MatrixSource, maxRank: number): LowRankLayout {
  const widths = tensors.map(({ rows }) => rows);
  return new LowRankLayout(columns, widths, maxRank);
}

function poolInput(matrix: MatrixSource, maxRank: number): AdapterInput {
  const columns = poolLayout(matrix, maxRank).numBytes;
  return { name: adapterPool(matrix.name), type: 'uint8', rows: 1, columns };
}

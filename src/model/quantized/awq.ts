import { blockSizeOf, scalesOf } from './gptq.ts';
import type { IntegerFormat } from './matrix-format.ts';
import { transposed, unpackAlongRows } from './unpack.ts';

/** In words, from the lowest bits on. */
const PACKING = { bits: 4, order: [0, 2, 4, 6, 1, 3, 5, 7] } as const;
const PER_WORD = 8;

/**
 * AWQ of version `gemm`: `qweight` [columns, rows / 8], `scales` [groups, rows],
 * `qzeros` [groups, rows / 8].
 */
export function awqFormat(groupSize: number): IntegerFormat {
  return {
    kind: 'integers',
    holds: (tensors, base) => tensors.shape(`${base}.qweight`) !== null,
    layout(tensors, base, [rows, columns]) {
      const [height, words] = tensors.shape(`${base}.qweight`) ?? [];
      const [groups = 0] = tensors.shape(`${base}.scales`) ?? [];
      if (height !== columns || words !== rows / PER_WORD) return null;
      const blockSize = blockSizeOf(groups, columns, groupSize);
      if (blockSize === null) return null;
      return { bits: 4, blockSize, hasZeroPoints: true, order: null };
    },
    async integers(tensors, base, [rows, columns], { blockSize }) {
      const groups = Math.ceil(columns / blockSize);
      const unpack = async (name: string, height: number) => {
        const words = await tensors.words(`${base}.${name}`, [height, rows / PER_WORD]);
        return transposed(unpackAlongRows(words, [height, rows], PACKING), [height, rows]);
      };
      return {
        values: await unpack('qweight', columns),
        scales: await scalesOf(tensors, base, [rows, groups]),
        zeroPoints: await unpack('qzeros', groups),
      };
    },
  };
}

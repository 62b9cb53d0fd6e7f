import { ModelError } from '../model-error.ts';

/** How tensors of one type are stored: in blocks of a row's neighbouring values. */
export interface TensorType {
  readonly name: string;
  /** Values of a block. */
  readonly blockSize: number;
  readonly blockBytes: number;
}

const float = (name: string, blockBytes: number): TensorType => ({
  name,
  blockSize: 1,
  blockBytes,
});
const block = (name: string, blockBytes: number): TensorType => ({
  name,
  blockSize: 32,
  blockBytes,
});
const superblock = (name: string, blockBytes: number): TensorType => ({
  name,
  blockSize: 256,
  blockBytes,
});

/** Types that can be read, by ggml's numbers. */
const TYPES: ReadonlyMap<number, TensorType> = new Map([
  [0, float('F32', 4)],
  [1, float('F16', 2)],
  [30, float('BF16', 2)],
  [2, block('Q4_0', 18)],
  [3, block('Q4_1', 20)],
  [6, block('Q5_0', 22)],
  [7, block('Q5_1', 24)],
  [8, block('Q8_0', 34)],
  [10, superblock('Q2_K', 84)],
  [11, superblock('Q3_K', 110)],
  [12, superblock('Q4_K', 144)],
  [13, superblock('Q5_K', 176)],
  [14, superblock('Q6_K', 210)],
  [20, block('IQ4_NL', 18)],
  [23, superblock('IQ4_XS', 136)],
  [39, block('MXFP4', 17)],
]);

/** Types that can't. */
const OTHER_NAMES: Readonly<Record<number, string>> = {
  9: 'Q8_1',
  15: 'Q8_K',
  16: 'IQ2_XXS',
  17: 'IQ2_XS',
  18: 'IQ3_XXS',
  19: 'IQ1_S',
  21: 'IQ3_S',
  22: 'IQ2_S',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  28: 'F64',
  29: 'IQ1_M',
  34: 'TQ1_0',
  35: 'TQ2_0',
};

export const SUPPORTED_TENSOR_TYPES = [...TYPES.values()].map(({ name }) => name).join(', ');

/**
 * @param number ggml's
 * @param what of which tensor, for the error
 * @throws {ModelError} naming the type, if it can't be read
 */
export function tensorType(number: number, what: string): TensorType {
  const type = TYPES.get(number);
  if (type !== undefined) return type;
  const name = OTHER_NAMES[number] ?? `number ${number}`;
  throw new ModelError(
    `${what} has type ${name}, which is not supported (supported: ${SUPPORTED_TENSOR_TYPES})`,
  );
}

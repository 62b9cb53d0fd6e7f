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
  [16, superblock('IQ2_XXS', 66)],
  [17, superblock('IQ2_XS', 74)],
  [22, superblock('IQ2_S', 82)],
  [18, superblock('IQ3_XXS', 98)],
  [21, superblock('IQ3_S', 110)],
  [19, superblock('IQ1_S', 50)],
  [29, superblock('IQ1_M', 56)],
  [34, superblock('TQ1_0', 54)],
  [35, superblock('TQ2_0', 66)],
  [41, { name: 'Q1_0', blockSize: 128, blockBytes: 18 }],
  [42, { name: 'Q2_0', blockSize: 64, blockBytes: 18 }],
]);

/** Types that can't. */
const OTHER_NAMES: Readonly<Record<number, string>> = {
  9: 'Q8_1',
  15: 'Q8_K',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  28: 'F64',
  40: 'NVFP4',
};
/** Types of the past, which llama.cpp takes no more either. */
const REMOVED_NAMES: Readonly<Record<number, string>> = {
  4: 'Q4_2',
  5: 'Q4_3',
  31: 'Q4_0_4_4',
  32: 'Q4_0_4_8',
  33: 'Q4_0_8_8',
  36: 'IQ4_NL_4_4',
  37: 'IQ4_NL_4_8',
  38: 'IQ4_NL_8_8',
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
  const removed = REMOVED_NAMES[number];
  if (removed !== undefined) {
    throw new ModelError(
      `${what} has type ${removed}, which llama.cpp removed from the format: take a newer file of the ` +
        'model, such as one in Q4_0 or Q4_K_M',
    );
  }
  const name = OTHER_NAMES[number] ?? `number ${number}`;
  throw new ModelError(
    `${what} has type ${name}, which is not supported (supported: ${SUPPORTED_TENSOR_TYPES})`,
  );
}

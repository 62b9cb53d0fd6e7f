import type { Machine } from './machine.ts';

/** Machines to simulate; calibrate.ts measures the costs of one more. */
export const MACHINES = {
  // Figures that calibrate.ts printed on two cores.
  'smollm2-135m-cpu': {
    description: 'SmolLM2-135M, int8, on 2 cores',
    costs: {
      decode: { perRun: 7.1, perRow: 0.56, perPosition: 0.00164 },
      prefill: {
        perRun: 7.1,
        perToken: 0.42,
        perTokenPosition: 0.00043,
        perCachedPosition: 0.0024,
      },
      perCopiedToken: 0.0032,
    },
    maxNumSeqs: 32,
    maxNumBatchedTokens: 512,
    maxModelLen: 2048,
    kvCacheTokens: 65_536,
    serviceLevel: { ttftMs: 2000, itlMs: 100 },
  },
  'cpu-server-64': {
    description: 'assumed: a 1.5B model in int8 on 32 cores with 250 GB/s',
    costs: {
      decode: { perRun: 8, perRow: 0.35, perPosition: 0.00023 },
      prefill: {
        perRun: 7,
        perToken: 0.35,
        perTokenPosition: 0.00009,
        perCachedPosition: 0.0003,
      },
      perCopiedToken: 0.002,
    },
    maxNumSeqs: 64,
    maxNumBatchedTokens: 512,
    maxModelLen: 4096,
    kvCacheTokens: 262_144,
    serviceLevel: { ttftMs: 2000, itlMs: 100 },
  },
  'gpu-512': {
    description: 'assumed: an 8B model in fp16 on a GPU with 3 TB/s and 500 TFLOP/s',
    costs: {
      decode: { perRun: 7, perRow: 0.02, perPosition: 0.000044 },
      prefill: {
        perRun: 8,
        perToken: 0.033,
        perTokenPosition: 0.0000018,
        perCachedPosition: 0.000002,
      },
      perCopiedToken: 0.0001,
    },
    maxNumSeqs: 512,
    maxNumBatchedTokens: 2048,
    maxModelLen: 8192,
    kvCacheTokens: 480_000,
    serviceLevel: { ttftMs: 1000, itlMs: 60 },
  },
} satisfies Record<string, Machine>;

export type MachineName = keyof typeof MACHINES;

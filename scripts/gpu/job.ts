import type { DeviceName } from '../../src/engine/gpu/device-options.ts';
import type { Precision } from '../../src/model/manifest.ts';

/** One process's work on a model of random weights: to build it, or to run it on a device. */
export interface Job {
  /** `check` compares with the CPU. */
  readonly kind: 'build' | 'check' | 'measure';
  readonly shape: string;
  /** Computed in float16 on a GPU, but for fp32. */
  readonly precision: Precision;
  readonly device: DeviceName;
  readonly attention: 'slots' | 'paged';
  /** Decode runs are recorded and replayed; WebGPU with slots alone. */
  readonly graphCapture: boolean;
  /** Sequences that decode at once, to be measured one after the other. */
  readonly rows: readonly number[];
  readonly promptTokens: number;
  /** Steps to take the median of. */
  readonly steps: number;
  readonly cacheDirectory: string;
}

/** The results of a job so far. */
export interface JobResult {
  /** Adapters that WebGPU can choose from. */
  readonly adapters?: readonly string[];
  readonly steps?: readonly StepMeasurement[];
  readonly check?: CheckResult;
  /** Why there is nothing, or not everything. */
  readonly error?: string;
}

export interface StepMeasurement {
  readonly rows: number;
  /** Median of the steps in which all of them decode, in milliseconds. */
  readonly stepMs: number;
  readonly tokensPerSecond: number;
  /** Prompt tokens per second until all of them have their first token. */
  readonly prefillTokensPerSecond: number;
}

export interface CheckResult {
  /** Tokens that agree with the CPU's, each sequence's up to its first other one. */
  readonly equalTokens: number;
  readonly tokens: number;
  /** Largest difference of a log-probability among those. */
  readonly worst: number;
}

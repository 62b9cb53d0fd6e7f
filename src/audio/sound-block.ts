/** Some milliseconds or seconds of sound, as its file has it. */
export interface SoundBlock {
  /** Samples of each channel, all equally many; full scale is -1 to 1. */
  readonly channels: readonly Float32Array[];
  /** Samples per second of each. */
  readonly sampleRate: number;
  /** Faults that the decoder went on after. */
  readonly faults: number;
}

import type { HuggingFaceConfig } from './config-schema.ts';
import type { RecurrentConfig } from './recurrent-config.ts';

/** Factors of what layers' matrices give; those of what a matrix reads are among them. */
export interface Multipliers {
  readonly queriesAndValues: number;
  readonly keys: number;
  readonly attentionOutput: number;
  /** By row of the matrix before a scan. */
  readonly scanInput: Float32Array | null;
  readonly scanOutput: number;
  readonly gates: number;
  readonly down: number;
}

/** Undefined where all are 1. */
export function parseMultipliers(
  hf: HuggingFaceConfig,
  recurrence: RecurrentConfig | undefined,
): Multipliers | undefined {
  const { attention_in_multiplier: attention, key_multiplier: key } = hf;
  const [gates = 1, down = 1] = hf.mlp_multipliers ?? [];
  const single = {
    queriesAndValues: attention,
    keys: attention * key,
    attentionOutput: hf.attention_out_multiplier,
    scanOutput: hf.ssm_out_multiplier,
    gates,
    down,
  };
  const scanInput = ofScanInput(hf, recurrence);
  const areAllOne = scanInput === null && Object.values(single).every((each) => each === 1);
  return areAllOne ? undefined : { ...single, scanInput };
}

function ofScanInput(
  { ssm_in_multiplier: input, ssm_multipliers: parts }: HuggingFaceConfig,
  recurrence: RecurrentConfig | undefined,
): Float32Array | null {
  if (recurrence?.kind !== 'selective scan' || (input === 1 && !parts)) return null;
  const { numHeads, headDim, numGroups, stateSize } = recurrence;
  const [width, group] = [numHeads * headDim, numGroups * stateSize];
  const rows = [width, width, group, group, numHeads].flatMap((size, part) =>
    Array.from({ length: size }, () => input * (parts?.[part] ?? 1)),
  );
  return Float32Array.from(rows);
}

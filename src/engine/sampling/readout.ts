import type { Readout } from '../request.ts';
import type { SegmentLogits } from '../step.ts';

/**
 * Reads the values that a request wants after its prompt.
 * @returns memory of its own; null when the model computed no finite numbers
 * @throws RangeError when the graph does not output hidden states
 */
export function readOut({ logits, hidden }: SegmentLogits, readout: Readout): Float32Array | null {
  const values =
    readout.kind === 'hidden'
      ? hidden?.slice()
      : Float32Array.from(readout.tokenIds, (id) => logits.at(-1)?.[id] ?? NaN);
  if (!values) throw new RangeError('the graph has no output for hidden states');
  return values.every(Number.isFinite) ? values : null;
}

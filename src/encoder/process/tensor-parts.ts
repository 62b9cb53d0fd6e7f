/**
 * Tensors of many megabytes on their way to another process: a message is written, and read, in one turn
 * of an event loop, so they go in parts.
 */
import type { TensorValue } from '../tensors/tensor.ts';
import type { SentTensor, TensorsPart } from './protocol.ts';

/** Size of a part, and the most that tensors in one message may have. */
export const PART_BYTES = 2 ** 19;
/** Cost of a text in a message, in addition to its bytes. */
const BYTES_PER_TEXT = 64;
/** Typed arrays lie at such places alone. */
const ALIGNMENT = 8;

export interface PartedTensors {
  readonly parts: Iterable<TensorsPart>;
  /** Where each tensor lies in the parts. */
  readonly lists: readonly (readonly SentTensor[])[];
}

/** @returns null where all is small enough for one message */
export function inParts(lists: readonly (readonly TensorValue[])[]): PartedTensors | null {
  const cost = lists.flat().reduce((sum, tensor) => sum + costOf(tensor), 0);
  if (cost <= PART_BYTES) return null;
  const pieces: { readonly offset: number; readonly bytes: Uint8Array }[] = [];
  let totalBytes = 0;
  const place = (tensor: TensorValue): SentTensor => {
    const { name, datatype, shape } = tensor;
    totalBytes = ALIGNMENT * Math.ceil(totalBytes / ALIGNMENT);
    const offset = totalBytes;
    const elements = tensor.datatype === 'BYTES' ? tensor.data : [bytesOf(tensor.data)];
    for (const bytes of elements) {
      pieces.push({ offset: totalBytes, bytes });
      totalBytes += bytes.length;
    }
    const texts = tensor.datatype === 'BYTES' ? tensor.data : [];
    const lengths = Uint32Array.from(texts, ({ length }) => length);
    return { name, datatype, shape, offset, numBytes: totalBytes - offset, lengths };
  };
  const sent = lists.map((tensors) => tensors.map(place));
  return { parts: partsOf(pieces, totalBytes), lists: sent };
}

function* partsOf(
  pieces: readonly { readonly offset: number; readonly bytes: Uint8Array }[],
  totalBytes: number,
): Generator<TensorsPart, void> {
  let [start, end] = [0, 0];
  let part = new Uint8Array(PART_BYTES);
  for (const { offset, bytes } of pieces) {
    for (let done = 0; done < bytes.length;) {
      const at = offset + done;
      if (at >= start + PART_BYTES) {
        yield { offset: start, totalBytes, bytes: part.subarray(0, end) };
        part = new Uint8Array(PART_BYTES);
        [start, end] = [at, 0];
      }
      const taken = bytes.subarray(done, done + start + PART_BYTES - at);
      part.set(taken, at - start);
      end = at - start + taken.length;
      done += taken.length;
    }
  }
  if (end > 0) yield { offset: start, totalBytes, bytes: part.subarray(0, end) };
}

function costOf(tensor: TensorValue): number {
  if (tensor.datatype !== 'BYTES') return tensor.data.byteLength;
  return tensor.data.reduce((sum, { length }) => sum + BYTES_PER_TEXT + length, 0);
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

import { expect, test } from 'vitest';
import { CPU_DEVICE } from '../../../../src/engine/gpu/device-options.ts';
import { GraphCapture } from '../../../../src/engine/gpu/slots/graph-capture.ts';
import { Allocator } from '../../../../src/ort/allocator.ts';
import { MemoryInfo } from '../../../../src/ort/memory-info.ts';
import { Session } from '../../../../src/ort/session.ts';
import { addGraph } from '../../../support/small-graphs.ts';

test('graphs have inputs that stay where they are, and are limited in number', () => {
  const session = new Session(addGraph());
  const allocator = new Allocator(session, MemoryInfo.cpu());
  const traffic = { bytesUp: 0, bytesDown: 0 };
  const capture = new GraphCapture(CPU_DEVICE, allocator, traffic);
  const modes = Array.from({ length: 17 }, (_, index) => capture.decode(index + 1));
  expect(modes.map(({ inputs }) => inputs === null)).toEqual([...Array(16).fill(false), true]);
  expect(modes[16]).toBe(capture.eager);

  const inputs = modes[2]?.inputs;
  if (!inputs) throw new Error('no inputs');
  for (const first of [5n, 8n]) {
    inputs.copy.upload('input_ids', 'int64', [3, 1], BigInt64Array.of(first, 6n, 7n));
    inputs.copy.upload('seqlens_k', 'int32', [3], Int32Array.of(1, 2, 3));
    inputs.copy.upload('total_sequence_length', 'int32', [], Int32Array.of(4));
    inputs.copy.upload('logits_index', 'int64', [3], BigInt64Array.of(0n, 1n, 2n));
    inputs.copy.run();
    expect([...(inputs.tensors.get('input_ids')?.data ?? [])]).toEqual([first, 6n, 7n]);
    expect([...(inputs.tensors.get('seqlens_k')?.data ?? [])]).toEqual([1, 2, 3]);
    expect([...(inputs.tensors.get('total_sequence_length')?.data ?? [])]).toEqual([4]);
  }
  expect(traffic.bytesUp).toBe(2 * (24 + 12 + 4 + 24));
  capture.release();
  allocator.release();
  session.release();
});

import { expect, it } from 'vitest';
import { loadPagedAttention } from '../../../src/engine/gpu/attention-probe.ts';
import { CPU_DEVICE } from '../../../src/engine/gpu/device-options.ts';

it('the CPU has no kernel for PagedAttention', () => {
  expect(() => loadPagedAttention(CPU_DEVICE)).toThrow(/PagedAttention/);
});

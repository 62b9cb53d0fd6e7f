import { expect, test } from 'vitest';
import { resolveAttention } from '../../../src/serving/plan/attention.ts';
import { CPU_DEVICE } from '../../../src/engine/gpu/device-options.ts';

const webgpu = { ...CPU_DEVICE, name: 'webgpu' } as const;
const capable = { device: webgpu, hasPagedAttention: true };
const incapable = { device: webgpu, hasPagedAttention: false };
const onCpu = { device: CPU_DEVICE, hasPagedAttention: false };

test('auto is slots, wherever it is', () => {
  for (const device of [capable, incapable, onCpu]) {
    expect(resolveAttention('auto', device, 'float16')).toBe('slots');
    expect(resolveAttention('slots', device, 'float32')).toBe('slots');
  }
});

test('paged is taken where there is a kernel, and refused with a reason elsewhere', () => {
  expect(resolveAttention('paged', capable, 'float16')).toBe('paged');
  expect(() => resolveAttention('paged', onCpu, 'float32')).toThrow(/and cpu has none/);
  expect(() => resolveAttention('paged', incapable, 'float32')).toThrow(/and webgpu has none/);
  expect(() => resolveAttention('paged', capable, 'float32')).toThrow(/--precision fp16 or int4/);
  expect(() => resolveAttention('paged', capable, 'float16', 'export')).toThrow(/ONNX exports/);
  expect(resolveAttention('auto', capable, 'float16', 'export')).toBe('slots');
  const capturing = { ...capable, device: { ...webgpu, graphCapture: true } };
  expect(() => resolveAttention('paged', capturing, 'float16')).toThrow(/needs --attention slots/);
  expect(() => resolveAttention('auto', capturing, 'float16', 'export')).toThrow(
    /--graph-capture is for graphs built from safetensors/,
  );
});

/** Sessions that can be made only if a device's provider has kernels for attention. */
import { GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { Session } from '../../ort/session.ts';
import type { SessionOptions } from '../../ort/session-options.ts';
import { type DeviceOptions, executionProviders } from './device-options.ts';

const HEAD_DIM = 64;

/** @throws OrtError when the device has no kernel for a decoder's attention */
export function loadAttention(device: DeviceOptions, type: 'float' | 'float16'): void {
  const graph = new GraphBuilder('attention');
  graph.input('qkv', type, [1, 'seq', 3 * HEAD_DIM]);
  graph.input('seqlens_k', 'int32', [1]);
  graph.input('total_sequence_length', 'int32', []);
  const cache = [1, 1, 'capacity', HEAD_DIM];
  for (const name of ['past_key', 'past_value']) graph.input(name, type, cache);
  const outputs = ['attended', 'present_key', 'present_value'];
  const inputs = ['qkv', '', '', 'past_key', 'past_value', 'seqlens_k', 'total_sequence_length'];
  const attributes = { num_heads: 1n, kv_num_heads: 1n };
  graph.node('attention', 'GroupQueryAttention', inputs, {
    domain: MICROSOFT_DOMAIN,
    outputs,
    attributes,
  });
  graph.output('attended', type, [1, 'seq', HEAD_DIM]);
  for (const name of ['present_key', 'present_value']) graph.output(name, type, cache);
  new Session(graph.toBytes(), deviceOnly(device)).release();
}

/** @throws OrtError when the device has no kernel for attention over a paged KV cache */
export function loadPagedAttention(device: DeviceOptions): void {
  const graph = new GraphBuilder('paged-attention');
  graph.input('qkv', 'float16', ['tokens', 3 * HEAD_DIM]);
  const cache = ['blocks', 'block_size', 1, HEAD_DIM];
  for (const name of ['past_key', 'past_value']) graph.input(name, 'float16', cache);
  graph.input('cumulative_sequence_length', 'int32', ['batch_plus_one']);
  graph.input('past_seqlens', 'int32', ['batch']);
  graph.input('block_table', 'int32', ['batch', 'max_blocks']);
  const lengths = ['cumulative_sequence_length', 'past_seqlens', 'block_table'];
  graph.node('attention', 'PagedAttention', ['qkv', '', '', 'past_key', 'past_value', ...lengths], {
    domain: MICROSOFT_DOMAIN,
    outputs: ['attended', 'present_key', 'present_value'],
    attributes: { num_heads: 1n, kv_num_heads: 1n },
  });
  graph.output('attended', 'float16', ['tokens', HEAD_DIM]);
  for (const name of ['present_key', 'present_value']) graph.output(name, 'float16', cache);
  new Session(graph.toBytes(), deviceOnly(device)).release();
}

/** A session of which every node runs on the device. */
export function deviceOnly(device: DeviceOptions): SessionOptions {
  return {
    providers: executionProviders(device),
    config: { 'session.disable_cpu_ep_fallback': '1' },
  };
}

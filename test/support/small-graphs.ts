import { setTimeout as sleep } from 'node:timers/promises';
import { GraphBuilder } from '../../src/onnx/graph-builder.ts';

/** An ONNX model: sum = x + y, each [rows, 2]. */
export function addGraph(): Uint8Array {
  const graph = new GraphBuilder('add');
  graph.input('x', 'float', ['rows', 2]);
  graph.input('y', 'float', ['rows', 2]);
  graph.node('sum', 'Add', ['x', 'y']);
  graph.output('sum', 'float', ['rows', 2]);
  return graph.toBytes();
}

/** Needs `--expose-gc`; WeakRefs are cleared between turns of the event loop. */
export async function forceGarbageCollection(): Promise<void> {
  if (!globalThis.gc) throw new Error('run with --expose-gc');
  await sleep(1);
  globalThis.gc();
  await sleep(1);
}

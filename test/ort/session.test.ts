import { describe, expect, it } from 'vitest';
import { GraphBuilder } from '../../src/onnx/graph-builder.ts';
import { Allocator } from '../../src/ort/allocator.ts';
import { loadOrtLibrary } from '../../src/ort/api.ts';
import { availableProviders, ortVersion } from '../../src/ort/environment.ts';
import { OrtError } from '../../src/ort/error.ts';
import { IoBinding } from '../../src/ort/io-binding.ts';
import { onnxRuntimeLibraryPath } from '../../src/ort/library.ts';
import { MemoryInfo } from '../../src/ort/memory-info.ts';
import { NativeMemory } from '../../src/ort/native-memory.ts';
import { RunOptions } from '../../src/ort/run-options.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import { addGraph, forceGarbageCollection } from '../support/small-graphs.ts';

describe('the library', () => {
  it('names its version and providers', () => {
    expect(ortVersion()).toMatch(/^1\.\d+\.\d+$/);
    expect(availableProviders()).toContain('CPUExecutionProvider');
  });

  it('is refused when too old, with the version that is needed', () => {
    expect(() => loadOrtLibrary(onnxRuntimeLibraryPath(), 999)).toThrow(
      /ONNX Runtime 1\.\d+\.\d+ at .* is too old: C API version 999 .* 1\.999 or newer/,
    );
  });
});

describe('a session', () => {
  it('describes its inputs and outputs, and itself', () => {
    const session = new Session(addGraph());
    expect(session.inputs).toEqual([
      { name: 'x', type: 'float', shape: ['rows', 2] },
      { name: 'y', type: 'float', shape: ['rows', 2] },
    ]);
    expect(session.outputs).toEqual([{ name: 'sum', type: 'float', shape: ['rows', 2] }]);
    expect(session.producerName).toBe('chairlift');
    expect(session.metadata('absent')).toBeUndefined();
    session.release();
  });

  it("fails with ONNX Runtime's message and code", () => {
    expect(() => new Session(new Uint8Array([1, 2, 3]))).toThrow(OrtError);
    expect(() => new Session('no-such-file.onnx')).toThrow(
      expect.objectContaining({
        code: 'NO_SUCHFILE',
        message: expect.stringContaining('no-such-file.onnx'),
      }),
    );
    expect(() => new Session(addGraph(), { config: { '': 'x' } })).toThrow(OrtError);
  });

  it('reads scalars and 64-bit integers', () => {
    const graph = new GraphBuilder('scalar');
    graph.input('n', 'int64', []);
    graph.input('v', 'int64', ['length']);
    graph.node('product', 'Mul', ['n', 'v']);
    graph.output('product', 'int64', ['length']);
    const session = new Session(graph.toBytes());
    expect(session.inputs[0]).toEqual({ name: 'n', type: 'int64', shape: [] });
    const n = Tensor.over('int64', [], BigInt64Array.of(-3n));
    const v = Tensor.over('int64', [2], BigInt64Array.of(5n, 2n ** 40n));
    const product = Tensor.over('int64', [2], new BigInt64Array(2));
    const binding = new IoBinding(session);
    binding.bindInput('n', n);
    binding.bindInput('v', v);
    binding.bindOutput('product', product);
    session.run(binding);
    expect([...product.data]).toEqual([-15n, -3n * 2n ** 40n]);
    for (const handle of [n, v, product, session]) handle.release();
  });
});

describe('io binding', () => {
  const shape = [2, 2];

  it('runs many times over the same memory, without a copy', () => {
    const session = new Session(addGraph());
    const x = new Float32Array(4);
    const sum = new Float32Array(4);
    const tensors = {
      x: Tensor.over('float', shape, x),
      y: Tensor.over('float', shape, Float32Array.of(10, 20, 30, 40)),
      sum: Tensor.over('float', shape, sum),
    };
    const binding = new IoBinding(session);
    binding.bindInput('x', tensors.x);
    binding.bindInput('y', tensors.y);
    binding.bindOutput('sum', tensors.sum);
    for (let run = 1; run <= 3; run++) {
      x.fill(run);
      session.run(binding);
      expect([...sum]).toEqual([10 + run, 20 + run, 30 + run, 40 + run]);
    }
    for (const handle of [...Object.values(tensors), session]) handle.release();
  });

  it('takes one tensor as input and output: the sum grows in place', () => {
    const session = new Session(addGraph());
    const memory = new NativeMemory(64);
    const total = Tensor.overNative('float', shape, memory, 16);
    const y = Tensor.over('float', shape, Float32Array.of(1, 2, 3, 4));
    const binding = new IoBinding(session);
    binding.bindInput('x', total);
    binding.bindInput('y', y);
    binding.bindOutput('sum', total);
    for (let run = 0; run < 5; run++) session.run(binding);
    expect([...new Float32Array(memory.view(16, 16))]).toEqual([5, 10, 15, 20]);
    expect([...total.data]).toEqual([5, 10, 15, 20]);
    for (const handle of [total, y, session, memory]) handle.release();
  });

  it('runs over tensors from an allocator, as device memory will be', () => {
    const session = new Session(addGraph());
    const allocator = new Allocator(session, MemoryInfo.cpu());
    const x = Tensor.allocate('float', shape, allocator);
    const sum = Tensor.allocate('float', shape, allocator);
    x.data.set([1, 2, 3, 4]);
    const binding = new IoBinding(session);
    binding.bindInput('x', x);
    binding.bindInput('y', x);
    binding.bindOutput('sum', sum);
    session.run(binding);
    expect([...sum.data]).toEqual([2, 4, 6, 8]);
    for (const handle of [x, sum, allocator, session]) handle.release();
    expect(() => MemoryInfo.device('NoSuchMemory')).toThrow(OrtError);
  });

  it('refuses unknown names, wrong shapes and terminated runs, and goes on', () => {
    const session = new Session(addGraph());
    const x = Tensor.over('float', shape, new Float32Array(4).fill(2));
    const wide = Tensor.over('float', [2, 3], new Float32Array(6));
    const sum = Tensor.over('float', shape, new Float32Array(4));
    const options = new RunOptions();
    const binding = new IoBinding(session);
    expect(() => binding.bindInput('nobody', x)).toThrow(/nobody/);
    binding.bindInput('x', x);
    binding.bindInput('y', wide);
    binding.bindOutput('sum', sum);
    expect(() => session.run(binding)).toThrow(/[Dd]imension/);
    binding.bindInput('y', x);
    options.setTag('a test');
    options.terminate();
    expect(() => session.run(binding, options)).toThrow(/terminate/i);
    options.resume();
    session.run(binding, options);
    expect([...sum.data]).toEqual([4, 4, 4, 4]);
    x.release();
    expect(() => session.run(binding)).toThrow('Tensor used after its release');
    for (const handle of [wide, sum, options, session]) handle.release();
  });
});

describe('lifetimes', () => {
  it('keep bound arrays from being collected', async () => {
    const session = new Session(addGraph());
    const rows = 50_000;
    const binding = new IoBinding(session);
    // Nothing but the binding refers to the input arrays from here on.
    binding.bindInput('x', Tensor.over('float', [rows, 2], new Float32Array(rows * 2).fill(1)));
    binding.bindInput('y', Tensor.over('float', [rows, 2], new Float32Array(rows * 2).fill(2)));
    const sum = Tensor.over('float', [rows, 2], new Float32Array(rows * 2));
    binding.bindOutput('sum', sum);
    for (let round = 0; round < 20; round++) {
      await forceGarbageCollection();
      // Takes and dirties the memory that a collected input would have left.
      Array.from({ length: 10 }, () => new Float32Array(rows * 2).fill(-1));
      session.run(binding);
      expect(sum.data.every((value) => value === 3)).toBe(true);
    }
    for (const handle of [sum, session]) handle.release();
  });

  it('let arrays go once their tensor is released', async () => {
    let data: Float32Array<ArrayBuffer> | undefined = new Float32Array(1000);
    const collected = new WeakRef(data);
    const tensor = Tensor.over('float', [1000], data);
    data = undefined;
    await forceGarbageCollection();
    expect(collected.deref()).toBeDefined();
    tensor.release();
    await forceGarbageCollection();
    expect(collected.deref()).toBeUndefined();
  });

  it('end with release: using a handle afterwards throws, releasing again does nothing', () => {
    const session = new Session(addGraph());
    const tensor = Tensor.over('float', [1], new Float32Array(1));
    const memory = new NativeMemory(4096);
    for (const handle of [session, tensor, memory]) {
      handle.release();
      handle.release();
    }
    expect(() => session.pointer).toThrow('Session used after its release');
    expect(() => tensor.data).toThrow('Tensor used after its release');
    expect(() => memory.address).toThrow('used after its release');
  });

  it('do not leak: sessions, bindings and tensors by the thousand leave memory flat', () => {
    const graph = addGraph();
    const round = () => {
      const session = new Session(graph);
      const binding = new IoBinding(session);
      const tensor = Tensor.over('float', [1024, 2], new Float32Array(2048));
      binding.bindInput('x', tensor);
      binding.bindInput('y', tensor);
      binding.bindOutput('sum', tensor);
      session.run(binding);
      for (const handle of [tensor, session]) handle.release();
    };
    const residentAfter = (rounds: number) => {
      for (let count = 0; count < rounds; count++) round();
      globalThis.gc?.();
      return process.memoryUsage.rss();
    };
    const before = residentAfter(300);
    const after = residentAfter(600);
    expect(after - before).toBeLessThan(20 * 2 ** 20);
  });
});

describe('tensors', () => {
  it('refuse memory that is too small for their shape', () => {
    expect(() => Tensor.over('float', [2, 3], new Float32Array(5))).toThrow(
      'a float tensor of shape [2, 3] takes 24 bytes, the array has 20',
    );
    const memory = new NativeMemory(4096);
    expect(() => Tensor.overNative('float', [1024], memory, 4)).toThrow(RangeError);
    memory.release();
  });
});

describe('native memory', () => {
  it('is zero, takes overlapping copies and refuses to reach outside', () => {
    const memory = new NativeMemory(1 << 20);
    const bytes = new Uint8Array(memory.view());
    expect(bytes.every((byte) => byte === 0)).toBe(true);
    bytes.set([1, 2, 3, 4]);
    memory.copyWithin(2, 0, 4);
    expect([...bytes.subarray(0, 7)]).toEqual([1, 2, 1, 2, 3, 4, 0]);
    expect(() => memory.copyWithin(0, (1 << 20) - 1, 2)).toThrow(RangeError);
    memory.release();
  });

  it('costs nothing before it is touched', () => {
    const before = process.memoryUsage.rss();
    const memory = new NativeMemory(8 * 2 ** 30);
    expect(process.memoryUsage.rss() - before).toBeLessThan(16 * 2 ** 20);
    memory.release();
  });
});

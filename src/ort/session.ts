import koffi from 'koffi';
import { ort, type Pointer } from './api.ts';
import { elementTypeOf, STRING_VALUE } from './element-type.ts';
import { ortEnvironment } from './environment.ts';
import { Handle } from './handle.ts';
import type { IoBinding } from './io-binding.ts';
import type { LoadedGraph, ValueInfo } from './loaded-graph.ts';
import type { RunOptions } from './run-options.ts';
import { keepDuringJob } from './native-memory.ts';
import { type SessionOptions, withSessionOptions } from './session-options.ts';
import type { SessionWeights } from './shared-weights.ts';
import { defaultAllocator, takeString } from './strings.ts';

/** A loaded graph. Calls are synchronous, on the thread that made the session. */
export class Session extends Handle implements LoadedGraph {
  readonly inputs: readonly ValueInfo[];
  readonly outputs: readonly ValueInfo[];

  /**
   * @param model path of an ONNX file, or its bytes
   * @param weights in place of the initializers of the same names, all of which the graph must have
   * @throws OrtError when the graph can't be loaded
   */
  constructor(
    model: string | Uint8Array,
    options: SessionOptions = {},
    weights: SessionWeights | null = null,
  ) {
    super(withSessionOptions(options, (native) => create(model, native, weights)));
    const { api } = ort();
    this.inputs = valueInfos(
      api.SessionGetInputCount(this.pointer),
      (index) => api.SessionGetInputName(this.pointer, index, defaultAllocator()),
      (index) => api.SessionGetInputTypeInfo(this.pointer, index),
    );
    this.outputs = valueInfos(
      api.SessionGetOutputCount(this.pointer),
      (index) => api.SessionGetOutputName(this.pointer, index, defaultAllocator()),
      (index) => api.SessionGetOutputTypeInfo(this.pointer, index),
    );
  }

  /**
   * Runs the graph once over what is bound.
   * @throws OrtError when the run fails; the session stays usable
   */
  run(binding: IoBinding, options?: RunOptions): void {
    const { inputs, outputs } = binding;
    keepDuringJob(binding);
    ort().api.Run(
      this.pointer,
      options?.pointer ?? null,
      inputs.names,
      inputs.values(),
      inputs.count,
      outputs.names,
      outputs.count,
      outputs.values(),
    );
  }

  /** The value of a key in the model's metadata, or `undefined`. */
  metadata(key: string): string | undefined {
    return this.#withMetadata((metadata) => {
      const value = ort().api.ModelMetadataLookupCustomMetadataMap(
        metadata,
        defaultAllocator(),
        key,
      );
      return value === 0n ? undefined : takeString(value);
    });
  }

  /** Producer of the graph, as it says itself. */
  get producerName(): string {
    return this.#withMetadata((metadata) =>
      takeString(ort().api.ModelMetadataGetProducerName(metadata, defaultAllocator())),
    );
  }

  #withMetadata<R>(use: (metadata: Pointer) => R): R {
    const metadata = ort().api.SessionGetModelMetadata(this.pointer);
    try {
      return use(metadata);
    } finally {
      ort().api.ReleaseModelMetadata(metadata);
    }
  }

  protected override free(pointer: Pointer): void {
    ort().api.ReleaseSession(pointer);
  }
}

function create(
  model: string | Uint8Array,
  options: Pointer,
  weights: SessionWeights | null,
): Pointer {
  const { api } = ort();
  const environment = ortEnvironment();
  for (const [name, { pointer }] of weights?.tensors ?? []) {
    api.AddInitializer(options, name, pointer);
  }
  if (typeof model === 'string') {
    return weights === null
      ? api.CreateSession(environment, model, options)
      : api.CreateSessionWithPrepackedWeightsContainer(
          environment,
          model,
          options,
          weights.pointer,
        );
  }
  const { byteLength } = model;
  return weights === null
    ? api.CreateSessionFromArray(environment, model, byteLength, options)
    : api.CreateSessionFromArrayWithPrepackedWeightsContainer(
        environment,
        model,
        byteLength,
        options,
        weights.pointer,
      );
}

function valueInfos(
  count: number,
  nameAt: (index: number) => Pointer,
  typeAt: (index: number) => Pointer,
): ValueInfo[] {
  return Array.from({ length: count }, (_, index) => {
    const typeInfo = typeAt(index);
    try {
      return { name: takeString(nameAt(index)), ...tensorInfo(typeInfo) };
    } finally {
      ort().api.ReleaseTypeInfo(typeInfo);
    }
  });
}

function tensorInfo(typeInfo: Pointer): Omit<ValueInfo, 'name'> {
  const { api } = ort();
  // Part of typeInfo, so not released by itself; null for what is not a tensor.
  const info = api.CastTypeInfoToTensorInfo(typeInfo);
  if (info === 0n) return { type: undefined, shape: [] };
  const value = api.GetTensorElementType(info);
  const type = value === STRING_VALUE ? 'string' : elementTypeOf(value);
  const rank = api.GetDimensionsCount(info);
  if (rank === 0) return { type, shape: [] };
  const sizes = new BigInt64Array(rank);
  const names = new BigUint64Array(rank);
  api.GetDimensions(info, sizes, rank);
  api.GetSymbolicDimensions(info, names, rank);
  const shape = Array.from(sizes, (size, axis) =>
    size >= 0n ? Number(size) : koffi.decode.string(names[axis]),
  );
  return { type, shape };
}

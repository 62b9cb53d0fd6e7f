/** Models without state, in processes of their own, as the server has them. */
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import { pino } from 'pino';
import type { z } from 'zod';
import { TENSOR_BATCHING } from '../../../src/front/batching/default-batching.ts';
import { ImageClassifier } from '../../../src/front/images/image-classifier.ts';
import { TensorModel } from '../../../src/front/tensors/tensor-model.ts';
import { TextModel } from '../../../src/front/embedding/text-model.ts';
import { type ImageConfig, imageConfigSchema } from '../../../src/front/images/image-config.ts';
import { ImagePool } from '../../../src/front/images/image-pool.ts';
import { GraphBuilder } from '../../../src/onnx/graph-builder.ts';
import { ModelProtoSchema, type TensorProto_DataType } from '../../../src/onnx/onnx_pb.ts';
import type { EncoderRuntime, TensorRuntime } from '../../../src/server/runtimes.ts';
import { encoderFolder } from '../../encoder/support/encoders.ts';
import { openImageTower } from '../../../src/serving/loading/open-image-tower.ts';
import { type DualName, dualFolder } from '../../support/dual-encoders.ts';
import { colorGraph } from '../../support/color-graph.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** `y` is `x`. Both are [batch, 2], of an element type by ONNX's number. */
export function pairGraph(elemType: TensorProto_DataType): Uint8Array {
  const graph = new GraphBuilder('pair');
  graph.input('x', 'float', ['batch', 2]);
  graph.node('y', 'Identity', ['x']);
  graph.output('y', 'float', ['batch', 2]);
  const model = fromBinary(ModelProtoSchema, graph.toBytes());
  for (const { type } of [...(model.graph?.input ?? []), ...(model.graph?.output ?? [])]) {
    if (type?.value.case === 'tensorType') type.value.value.elemType = elemType;
  }
  return toBinary(ModelProtoSchema, model);
}

/** `row` [batch, 2] is the row of a table of 4 that `index` [batch] says. */
export function tableGraph(): Uint8Array {
  const graph = new GraphBuilder('table');
  graph.input('index', 'int64', ['batch']);
  graph.initializer('table', 'float', [4, 2], Float32Array.of(0, 1, 2, 3, 4, 5, 6, 7));
  graph.node('row', 'Gather', ['table', 'index']);
  graph.output('row', 'float', ['batch', 2]);
  return graph.toBytes();
}

const served = (id: string) => ({
  model: { id, created: 1_700_000_000 },
  memoryBytes: 0,
  stop: async () => {},
});

/** Says whether an image is red, green or blue. @param more of the section `image` */
export async function colorRuntime(
  id: string,
  more: z.input<typeof imageConfigSchema> = {},
): Promise<TensorRuntime> {
  const tensors = await startTensors(colorGraph());
  const pool = new ImagePool();
  onTestFinished(() => pool.close());
  const config: ImageConfig = imageConfigSchema.parse({ size: { height: 4, width: 4 }, ...more });
  const classifier = new ImageClassifier(tensors, config, ['red', 'green', 'blue'], pool);
  return { ...ofTensors(id, tensors), classifier };
}

export async function tensorRuntime(id: string, graph: Uint8Array): Promise<TensorRuntime> {
  return ofTensors(id, await startTensors(graph));
}

function ofTensors(id: string, tensors: TensorModel): TensorRuntime {
  const engine = { state: 'ready', silentMs: 0 } as const;
  return { kind: 'tensors', tensors, classifier: null, engine, admission: IDLE, ...served(id) };
}

async function startTensors(graph: Uint8Array): Promise<TensorModel> {
  const path = join(await temporaryDirectory(), 'model.onnx');
  await writeFile(path, graph);
  const tensors = new TensorModel({
    source: { type: 'graph', path, isBatched: null },
    threads: 1,
    runTimeoutMs: 60_000,
    batching: { ...TENSOR_BATCHING, maxBatchSize: 8 },
  });
  onTestFinished(() => tensors.stop());
  await tensors.start();
  return tensors;
}

/** Encoders in processes of their own: each is opened at its first use, and closed after a file's last test. */
export interface Encoders {
  /** One of the tiny encoders of test/fixtures/encoders. */
  encoder(id: string, name: string): Promise<EncoderRuntime>;
  /** One of a folder that is made for it. */
  encoderIn(id: string, makeFolder: () => Promise<string>): Promise<EncoderRuntime>;
  /** One of the models of test/fixtures/dual-encoders, with both towers. */
  dual(id: string, name: DualName): Promise<EncoderRuntime>;
}

/** To be called once in a file, outside of its tests. */
export function useEncoders(): Encoders {
  const opened = new Map<string, Promise<EncoderRuntime>>();
  const closers: (() => void | Promise<void>)[] = [];
  afterAll(async () => {
    for (const close of closers.toReversed()) await close();
  });
  const once = async (key: string, open: () => Promise<EncoderRuntime>) => {
    const found = opened.get(key) ?? open();
    opened.set(key, found);
    return await found;
  };
  const cacheDirectory = async () => {
    const cache = await temporaryCache();
    closers.push(() => cache.remove());
    return cache.path;
  };
  const openEncoder = async (id: string, folder: string): Promise<EncoderRuntime> => {
    const encoder = await TextModel.open({
      folder,
      precision: 'fp32',
      cacheDirectory: await cacheDirectory(),
      threads: 1,
      tokenizerThreads: 1,
      runTimeoutMs: 60_000,
      batching: TENSOR_BATCHING,
    });
    closers.push(() => encoder.stop());
    await encoder.start();
    const engine = { state: 'ready', silentMs: 0 } as const;
    return { kind: 'encoder', encoder, engine, admission: IDLE, ...served(id) };
  };
  const openDual = async (id: string, name: DualName): Promise<EncoderRuntime> => {
    const folder = dualFolder(name);
    const pool = new ImagePool();
    const images = await openImageTower({
      name: id,
      folder,
      precision: 'fp32',
      cacheDirectory: await cacheDirectory(),
      threads: 1,
      runTimeoutMs: 60_000,
      batching: TENSOR_BATCHING,
      pool,
      logger: pino({ level: 'silent' }),
    });
    if (images === null) throw new Error(`${name} takes no images`);
    closers.push(async () => {
      pool.close();
      await images.model.stop();
    });
    await images.model.start();
    return { ...(await openEncoder(id, folder)), images: images.tower };
  };
  return {
    encoder: (id, name) => once(`${id} ${name}`, () => openEncoder(id, encoderFolder(name))),
    encoderIn: (id, makeFolder) => once(id, async () => openEncoder(id, await makeFolder())),
    dual: (id, name) => once(`${id} dual ${name}`, () => openDual(id, name)),
  };
}

const IDLE = { close: () => {}, onIdle: async () => {} };

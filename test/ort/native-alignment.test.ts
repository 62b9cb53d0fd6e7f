import { toBinary } from '@bufbuild/protobuf';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GraphBuilder, NATIVE_DOMAIN } from '../../src/onnx/graph-builder.ts';
import { ModelProtoSchema } from '../../src/onnx/onnx_pb.ts';
import { parseModel } from '../../src/onnx/parsed-model.ts';
import { externalTensor } from '../../src/onnx/protos.ts';
import { IoBinding } from '../../src/ort/io-binding.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const LOGITS = new Float32Array([1, 3, 2, 0]);

/** Finds the best of logits that lie in a file of their own, at that offset. */
async function bestOfFile(offset: number): Promise<Int32Array> {
  const folder = await temporaryDirectory();
  const bytes = Buffer.alloc(offset + LOGITS.byteLength);
  bytes.set(new Uint8Array(LOGITS.buffer), offset);
  writeFileSync(join(folder, 'logits.data'), bytes);
  const builder = new GraphBuilder('best');
  const attributes = { columns: BigInt(LOGITS.length) };
  builder.initializer('logits', 'float', [1, LOGITS.length], LOGITS);
  builder.node('best', 'Best', ['logits'], { domain: NATIVE_DOMAIN, attributes });
  builder.output('best', 'int32', [1]);
  const { model, graph } = parseModel(builder.toBytes());
  const logits = { name: 'logits', type: 'float', dims: [1, LOGITS.length], data: LOGITS } as const;
  const place = { offset, length: LOGITS.byteLength };
  graph.initializer = [externalTensor(logits, 'logits.data', place)];
  const path = join(folder, 'best.onnx');
  writeFileSync(path, toBinary(ModelProtoSchema, model));
  const session = new Session(path, { nativeKernels: true });
  const best = new Int32Array(1);
  const tensor = Tensor.over('int32', [1], best);
  const binding = new IoBinding(session);
  binding.bindOutput('best', tensor);
  try {
    session.run(binding);
  } finally {
    tensor.release();
    session.release();
  }
  return best;
}

test('initializers that a file keeps at an odd place are refused, not read', async () => {
  await expect(bestOfFile(1)).rejects.toThrow("an input's address is not aligned");
  expect(await bestOfFile(4096)).toEqual(new Int32Array([1]));
});

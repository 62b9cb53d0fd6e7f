import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import { UntrustedPathError } from '../../src/files/untrusted-path.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { ModelError } from '../../src/model/model-error.ts';
import { inspectModelFolder } from '../../src/model/folder/model-folder.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { externalFiles, readExternalInitializers } from '../../src/onnx/external-initializers.ts';
import {
  GraphProtoSchema,
  type ModelProto,
  ModelProtoSchema,
  type TensorProto,
  TensorProto_DataLocation,
} from '../../src/onnx/onnx_pb.ts';
import { isExternal } from '../../src/onnx/protos.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const EXPORT = join('test', 'exports', 'hub');

/** A copy of an export whose graph was changed. */
async function changedExport(change: (model: ModelProto) => void): Promise<string> {
  const folder = await temporaryDirectory();
  await cp(EXPORT, folder, { recursive: true });
  const file = join(folder, 'onnx', 'model.onnx');
  const model = fromBinary(ModelProtoSchema, await readFile(file));
  change(model);
  await writeFile(file, toBinary(ModelProtoSchema, model));
  return folder;
}

function externalTensors({ graph }: ModelProto): TensorProto[] {
  return (graph?.initializer ?? []).filter(isExternal);
}

function place(tensor: TensorProto, key: string, value: string): void {
  for (const entry of tensor.externalData) if (entry.key === key) entry.value = value;
}

const build = async (path: string) =>
  prepareModel(
    { kind: 'folder', path },
    { precision: 'fp32', cacheDirectory: await temporaryDirectory() },
  );

test.each(['../../../../etc/passwd', '/etc/passwd', '../config.json', 'C:\\x', ''])(
  'an export whose weights lie in %j is refused',
  async (location) => {
    const folder = await changedExport((model) => {
      for (const tensor of externalTensors(model)) place(tensor, 'location', location);
    });
    await expect(build(folder)).rejects.toThrow(UntrustedPathError);
    await expect(build(folder)).rejects.toThrow(`model.onnx names ${JSON.stringify(location)}`);
  },
);

test('an export with a tensor at an address in memory is refused', async () => {
  const folder = await changedExport((model) => {
    for (const tensor of externalTensors(model)) {
      place(tensor, 'location', '*/_ORT_MEM_ADDR_/*');
    }
  });
  await expect(build(folder)).rejects.toThrow(ModelError);
  await expect(build(folder)).rejects.toThrow(/model\.onnx can't be read: .*_ORT_MEM_ADDR_/);
});

test.each(['-1', '1e300', 'x', '0x10000000000000000'])(
  'a tensor at offset %s is refused',
  async (offset) => {
    const folder = await changedExport((model) => {
      for (const tensor of externalTensors(model)) place(tensor, 'offset', offset);
    });
    const file = join(folder, 'onnx', 'model.onnx');
    expect(() => readExternalInitializers(file, join(folder, 'onnx'))).toThrow(
      'has no valid place and shape',
    );
  },
);

test('tensors in nodes, and in graphs inside of them, are looked at too', () => {
  const external = {
    dataLocation: TensorProto_DataLocation.EXTERNAL,
    externalData: [{ key: 'location', value: '../x' }],
  };
  const inner = { node: [{ attribute: [{ t: external }] }] };
  const graphs = [
    create(GraphProtoSchema, { initializer: [external] }),
    create(GraphProtoSchema, { node: [{ attribute: [{ tensors: [external] }] }] }),
    create(GraphProtoSchema, { node: [{ attribute: [{ g: inner }] }] }),
    create(GraphProtoSchema, {
      node: [{ attribute: [{ graphs: [{ node: [{ attribute: [{ g: inner }] }] }] }] }],
    }),
  ];
  for (const graph of graphs) {
    expect(() => externalFiles(graph, '/folder', 'graph')).toThrow(UntrustedPathError);
  }
  expect(externalFiles(create(GraphProtoSchema, {}), '/folder', 'graph')).toEqual(new Map());
});

test('a graph of garbage is refused', async () => {
  const folder = await temporaryDirectory();
  await cp(EXPORT, folder, { recursive: true });
  const file = join(folder, 'onnx', 'model.onnx');
  for (const bytes of [Buffer.alloc(0), Buffer.alloc(1000, 0xff), Buffer.alloc(1e6, 0x3a)]) {
    await writeFile(file, bytes);
    await expect(build(folder)).rejects.toThrow(`${file} can't be read`);
  }
});

async function folderWith(config: object): Promise<string> {
  const folder = await temporaryDirectory();
  await writeFile(join(folder, 'config.json'), JSON.stringify({ ...PRESETS.tiny, ...config }));
  await writeFile(join(folder, 'model.safetensors'), '');
  return folder;
}

test.each([
  'vocab_size',
  'hidden_size',
  'intermediate_size',
  'num_hidden_layers',
  'num_attention_heads',
  'num_key_value_heads',
  'head_dim',
  'max_position_embeddings',
])('a config.json with %s of 1e9 is refused', async (key) => {
  const inspecting = inspectModelFolder(await folderWith({ [key]: 1e9 }));
  await expect(inspecting).rejects.toThrow(ModelError);
  await expect(inspecting).rejects.toThrow(new RegExp(`config.json .*${key}: expected at most`));
});

test('positions that are too many only when scaled are refused', async () => {
  const rope_scaling = { rope_type: 'yarn', factor: 1e9, original_max_position_embeddings: 256 };
  await expect(inspectModelFolder(await folderWith({ rope_scaling }))).rejects.toThrow(
    '256000000000 positions of heads of 16 dimensions',
  );
});

test('a config.json that is no file, or too long a one, is refused', async () => {
  const folder = await folderWith({});
  await writeFile(join(folder, 'config.json'), Buffer.alloc(2 ** 26 + 1, 0x20));
  await expect(inspectModelFolder(folder)).rejects.toThrow(/config\.json cannot be read: .* more/);
  const other = await temporaryDirectory();
  await mkdir(join(other, 'config.json'));
  await writeFile(join(other, 'model.safetensors'), '');
  await expect(inspectModelFolder(other)).rejects.toThrow('config.json cannot be read: it is not');
});

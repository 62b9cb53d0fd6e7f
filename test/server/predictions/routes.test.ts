/** An image in, classes out: over /predictions, and as tensors over REST. */
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { AnyRuntime } from '../../../src/server/runtimes.ts';
import { modelDefinition } from '../../front/registry/fake-loader.ts';
import { pngBomb } from '../../support/image-bombs.ts';
import { errorOf, post, type Target } from '../support/client.ts';
import { colorRuntime, tableGraph, tensorRuntime } from '../support/stateless-models.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();

async function serving(...models: AnyRuntime[]) {
  return server({
    models: models.map(({ model }) => modelDefinition(model.id, {}, { preload: true })),
    runtimes: Object.fromEntries(models.map((runtime) => [runtime.model.id, runtime])),
  });
}

function colored(background: string) {
  return sharp({ create: { width: 30, height: 20, channels: 3, background } });
}

const RED = await colored('#f00').png().toBuffer();
const BLUE = await colored('#00f').jpeg({ quality: 100 }).toBuffer();

/** The file as it is, with whatever type. */
function send(target: Target, path: string, file: Uint8Array, type = 'image/jpeg') {
  const headers = { 'content-type': type };
  return fetch(target.url + path, { method: 'POST', body: Buffer.from(file), headers });
}

const classes = z.array(z.strictObject({ label: z.string(), score: z.number() }));

async function classesOf(response: Response): Promise<[string, number][]> {
  const json: unknown = await response.json();
  expect({ status: response.status, json }).toMatchObject({ status: 200 });
  return classes.parse(json).map(({ label, score }) => [label, score]);
}

test('an image gets labels and scores, the best first', async () => {
  const target = await serving(await colorRuntime('org/color'));
  const path = '/predictions/org/color';
  const e = Math.E / (Math.E + 2);
  const [best, second, third] = await classesOf(await send(target, path, RED));
  expect([best?.[0], second?.[0], third?.[0]]).toEqual(['red', 'green', 'blue']);
  expect(best?.[1]).toBeCloseTo(e, 6);
  expect(second?.[1]).toBeCloseTo((1 - e) / 2, 6);
  // As curl sends it, where nobody says what it is.
  const unnamed = await send(target, `${path}?top_k=1`, BLUE, 'application/x-www-form-urlencoded');
  expect(await classesOf(unnamed)).toEqual([['blue', expect.closeTo(e, 2)]]);
});

test('the same as JSON: base64, or a data URL', async () => {
  const target = await serving(await colorRuntime('color', { top_k: 2 }));
  const ask = (inputs: string, parameters?: object) =>
    post(target, '/predictions/color', { inputs, parameters });
  const encoded = RED.toString('base64');
  expect(await classesOf(await ask(encoded))).toHaveLength(2);
  const url = `data:image/png;base64,${encoded}`;
  const parameters = { top_k: 1, function_to_apply: 'none' };
  expect(await classesOf(await ask(url, parameters))).toEqual([['red', expect.closeTo(1, 6)]]);
  const sigmoid = await ask(url, { top_k: 1, function_to_apply: 'sigmoid' });
  expect(await classesOf(sigmoid)).toEqual([['red', expect.closeTo(Math.E / (Math.E + 1), 6)]]);
  for (const inputs of ['no base64!', 'https://example.com/cat.png', '']) {
    await errorOf(await ask(inputs), 400);
  }
  await errorOf(await ask(encoded, { top_k: 0 }), 400);
  await errorOf(await ask(encoded, { function_to_apply: 'x' }), 400);
});

test('what is no image, or too large a one, is refused with a reason', async () => {
  const target = await serving(await colorRuntime('color'));
  const refused = async (file: Uint8Array) =>
    errorOf(await send(target, '/predictions/color', file), 400);
  const code = 'invalid_image';
  expect(await refused(Buffer.from('<svg/>'))).toMatchObject({
    code,
    message: "The image can't be read: it is no PNG, JPEG, WebP or GIF.",
  });
  expect(await refused(RED.subarray(0, 60))).toMatchObject({ code });
  expect(await refused(pngBomb(60_000))).toMatchObject({ code });
  expect((await refused(pngBomb(60_000))).message).toMatch(/pixels/);
  const form = new FormData();
  form.append('data', new Blob([RED]));
  const sent = await fetch(`${target.url}/predictions/color`, { method: 'POST', body: form });
  expect((await errorOf(sent, 415)).code).toBe('unsupported_media_type');
  await errorOf(await send(target, '/predictions/color?top_k=x', RED), 400);
});

test('other models say that they take no images, and unknown ones that there are none', async () => {
  const target = await serving(await tensorRuntime('table', tableGraph()));
  const { message } = await errorOf(await send(target, '/predictions/table', RED), 400);
  expect(message).toContain('no section `image`');
  await errorOf(await send(target, '/predictions/none', RED), 404);
  await errorOf(await send(target, '/predictions/', RED), 404);
});

const images = (...files: Buffer[]) => ({
  name: 'pixels',
  datatype: 'BYTES',
  shape: [files.length],
  parameters: { binary_data_size: files.reduce((sum, { length }) => sum + 4 + length, 0) },
});

/** Files as raw bytes after the JSON. */
async function infer(target: Target, json: object, files: Buffer[]): Promise<Response> {
  const head = Buffer.from(JSON.stringify(json));
  const parts = files.flatMap((file) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(file.length);
    return [length, file];
  });
  return fetch(`${target.url}/v2/models/color/infer`, {
    method: 'POST',
    body: Buffer.concat([head, ...parts]),
    headers: { 'inference-header-content-length': String(head.length) },
  });
}

test('as tensors: files in, labels and scores out, a row for each', async () => {
  const target = await serving(await colorRuntime('color'));
  const files = [BLUE, RED];
  const answer = await infer(
    target,
    { id: 'a', inputs: [images(...files)], parameters: { top_k: 1 } },
    files,
  );
  expect(await answer.json()).toEqual({
    id: 'a',
    model_name: 'color',
    model_version: '1',
    outputs: [
      { name: 'label', datatype: 'BYTES', shape: [2, 1], data: ['blue', 'red'] },
      {
        name: 'score',
        datatype: 'FP32',
        shape: [2, 1],
        data: [expect.any(Number), expect.any(Number)],
      },
    ],
  });
  const labels = await infer(target, { inputs: [images(RED)], outputs: [{ name: 'label' }] }, [
    RED,
  ]);
  expect(await labels.json()).toMatchObject({
    outputs: [{ name: 'label', shape: [1, 3], data: ['red', 'green', 'blue'] }],
  });
  expect(await (await fetch(`${target.url}/v2/models/color`)).json()).toMatchObject({
    inputs: [{ name: 'pixels', datatype: 'BYTES', shape: [-1] }],
    outputs: [{ name: 'label' }, { name: 'score' }],
  });
});

test('tensors as the graph takes them still go in, and others are refused', async () => {
  const target = await serving(await colorRuntime('color'));
  const path = '/v2/models/color/infer';
  const pixels = { name: 'pixels', datatype: 'FP32', shape: [1, 3, 4, 4] };
  const data = Array.from({ length: 48 }, (_, at) => (at < 16 ? 1 : 0));
  const plain = await post(target, path, { inputs: [{ ...pixels, data }] });
  expect(await plain.json()).toMatchObject({ outputs: [{ name: 'logits', data: [1, 0, 0] }] });
  const refusals: [object, Buffer[]][] = [
    [{ inputs: [{ ...images(), shape: [0] }] }, []],
    [{ inputs: [images(...Array<Buffer>(17).fill(RED))] }, Array<Buffer>(17).fill(RED)],
    [{ inputs: [{ ...images(RED), name: 'other' }] }, [RED]],
    [{ inputs: [images(RED)], outputs: [{ name: 'logits' }] }, [RED]],
    [{ inputs: [images(RED)], parameters: { top_k: 0 } }, [RED]],
    [{ inputs: [images(RED.subarray(0, 60))] }, [RED.subarray(0, 60)]],
  ];
  for (const [json, files] of refusals) {
    const refused = await infer(target, json, files);
    expect({ status: refused.status, json }).toEqual({ status: 400, json });
  }
});

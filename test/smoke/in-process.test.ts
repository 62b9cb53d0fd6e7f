/** The package as programs import it: each script is a process of its own, and ends by itself. */
import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { orLong } from '../support/long-runs.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { visionFolder, visionReference } from '../support/vision.ts';

const run = promisify(execFile);
const cache = await temporaryCache();
afterAll(() => cache.remove());
await mkdir(join(cache.path, 'node_modules'));
await symlink(resolve('.'), join(cache.path, 'node_modules/chairlift'), 'junction');

/** Lines that a module prints, as JSON. Its stderr stays empty. */
async function printed(code: string): Promise<unknown[]> {
  const print = 'const print = (value) => console.log(JSON.stringify(value));\n';
  const script = join(cache.path, 'program.mjs');
  await writeFile(script, print + code);
  const env = { ...process.env, ...cache.env };
  const { stdout, stderr } = await run(process.execPath, [script], { env, timeout: 120_000 });
  expect(stderr).toBe('');
  return stdout
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}

describe('a model within a program', () => {
  /** Parts of one program, since it takes longer to start than they do. Each prints one line. */
  const PARTS = {
    generates: `
      const lines = [];
      const print = (value) => lines.push(value);
      print([model.name, model.kind, model.maxModelLen]);
      print(await model.generate([{ role: 'user', content: 'What is 23 + 45?' }], { temperature: 0 }));
      const deltas = [];
      let text = '';
      const options = { temperature: 0, maxTokens: 4 };
      for await (const delta of model.stream('Once upon a', options)) {
        deltas.push(delta);
        text += delta.text;
      }
      // Tokens that come together are one delta.
      print(deltas.pop().finishReason);
      print(deltas.every(({ finishReason }) => finishReason === null));
      print(text === await model.generate('Once upon a', options));
      const [one, other] = await model.embed(['snow', 'ice']);
      print([one.length, other.length, one[0] === other[0]]);
      print((await model.tokenize('snow')).length < (await model.tokenize([{ role: 'user', content: 'snow' }])).length);
      print(await model.generate('Answer:', { structuredOutputs: { choice: ['yes', 'no'] } }));
      return lines;`,
    atOnce: `
      let warnings = 0;
      process.on('warning', () => warnings++);
      const { signal } = new AbortController();
      const ask = (a) => model.generate([{ role: 'user', content: 'What is ' + a + ' + 5?' }], { temperature: 0, signal });
      const texts = await Promise.all(Array.from({ length: ${orLong(50, 300)} }, (_, a) => ask(a + 1)));
      return [texts.slice(0, 3), warnings];`,
    errors: `
      const lines = [];
      const print = (value) => lines.push(value);
      const told = (promise, type) => promise.catch((error) => print([error instanceof type, error.message]));
      await told(model.generate('x', { maxTokens: 0 }), InvalidRequestError);
      await told(model.generate('x', { maxTokns: 1 }), InvalidRequestError);
      await told(model.generate([]), InvalidRequestError);
      await told(model.generate('word '.repeat(5000)), InvalidRequestError);
      await told(model.generate('x', { structuredOutputs: { regex: '(' } }), InvalidRequestError);
      await told(loadModel('summit', { maxModelLn: 5 }), UsageError);
      await told(loadModel('no-such-model'), UserError);
      return lines;`,
    ends: `
      const lines = [];
      const print = (value) => lines.push(value);
      const endless = (signal) => model.generate('Once', { ignoreEos: true, signal }).catch((error) => error);
      const stopped = new AbortController();
      const one = endless(stopped.signal);
      const other = endless();
      for await (const delta of model.stream('Once', { ignoreEos: true })) break;
      stopped.abort(new Error('mine'));
      print((await one).message);
      print((await endless(AbortSignal.abort(new Error('before')))).message);
      await model[Symbol.asyncDispose]();
      print(await other instanceof ModelClosedError);
      print(await endless() instanceof ModelClosedError);
      return lines;`,
  };
  let outcome: Record<keyof typeof PARTS, unknown[]>;

  beforeAll(async () => {
    const parts = Object.entries(PARTS).map(([name, code]) => {
      return `print([${JSON.stringify(name)}, await (async () => {${code}})()]);`;
    });
    const lines = await printed(`
      import { InvalidRequestError, ModelClosedError, UsageError, UserError, loadModel } from 'chairlift';
      const model = await loadModel('summit', { maxNumSeqs: 4 });
      ${parts.join('\n')}
      await model.close();`);
    outcome = Object.fromEntries(lines as [keyof typeof PARTS, unknown[]][]) as typeof outcome;
  });

  it('generates, streams, embeds and tokenizes', () => {
    expect(outcome.generates).toEqual([
      ['summit', 'text', 2048],
      '23 + 45 = 68.',
      'length',
      true,
      true,
      [256, 256, false],
      true,
      expect.stringMatching(/^(yes|no)$/),
    ]);
  });

  it('takes any number of calls at once, by one signal', () => {
    const texts = ['1 + 5 = 6.', '2 + 5 = 7.', '3 + 5 = 8.'];
    expect(outcome.atOnce).toEqual([texts, 0]);
  });

  it('says what is wrong, by class and in words', () => {
    expect(outcome.errors).toEqual([
      [true, expect.stringContaining('`maxTokens`')],
      [true, 'there is no option maxTokns; is it maxTokens?'],
      [true, '`prompt` must not be empty.'],
      [true, expect.stringContaining('maximum context length is 2048 tokens')],
      [true, expect.stringContaining('`)` is missing')],
      [true, 'there is no setting maxModelLn; is it maxModelLen?'],
      [true, expect.stringContaining('there is no model no-such-model')],
    ]);
  });

  it('ends a call with the reason of its signal, or when it is closed', () => {
    expect(outcome.ends).toEqual(['mine', 'before', true, true]);
  });
});

test('a server within a program serves until it is closed, and leaves nothing', async () => {
  const lines = await printed(`import { serve } from 'chairlift';
    const options = { models: ['summit'], port: 0, logLevel: 'silent' };
    const server = await serve(options);
    const ask = (address) => fetch(address + '/v1/models').then(({ status }) => status, () => 'gone');
    print(await ask(server.url));
    const taken = { ...options, port: Number(new URL(server.url).port) };
    print(await serve(taken).catch((error) => error.message.includes('is taken')));
    await server.close();
    await server.close();
    print(await ask(server.url));
    const again = await serve(taken);
    print(again.url === server.url);
    await again.close();`);
  expect(lines).toEqual([200, true, 'gone', true]);
});

test('a model that sees is given files of images', async () => {
  const reference = await visionReference('smolvlm');
  const prompt = reference.prompts['one image'];
  const lines = await printed(`import { readFile } from 'node:fs/promises';
    import { loadModel } from 'chairlift';
    const model = await loadModel(${JSON.stringify(visionFolder('smolvlm'))}, { precision: 'fp32' });
    const image = await readFile(${JSON.stringify(resolve('test/fixtures/vision/images/wide.png'))});
    const [{ role, content }] = ${JSON.stringify(prompt?.messages)};
    const parts = content.map((part) => (part.type === 'image' ? { ...part, image } : part));
    const tokens = await model.tokenize([{ role, content: parts }]);
    print(tokens.length);
    const options = { temperature: 0, maxTokens: 16, ignoreEos: true };
    const ids = [];
    for await (const { tokenIds } of model.stream([{ role, content: parts }], options)) ids.push(...tokenIds);
    print(ids);
    const wrong = [{ role, content: [{ type: 'image', image: Buffer.from('no image') }] }];
    print(await model.generate(wrong).catch((error) => [error.name, error.message]));
    await model.close();`);
  expect(lines).toEqual([
    prompt?.ids.length,
    prompt?.greedy,
    ['InvalidRequestError', expect.stringContaining('PNG, JPEG, WebP or GIF')],
  ]);
});

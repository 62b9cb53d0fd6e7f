import { describe, expect, it, test } from 'vitest';
import { type CommandName, COMMANDS, commandSpec } from '../../src/settings/commands.ts';
import { isSwitch, nameOf } from '../../src/settings/flags/flag-spec.ts';
import { keysOf } from '../../src/settings/flag-sets.ts';
import { FLAGS, specOf } from '../../src/settings/options.ts';
import { readArguments } from '../../src/settings/arguments.ts';
import { settingsFrom } from '../support/settings.ts';

const serve = async (...words: string[]) => (await settingsFrom('serve', words)).options;

describe('a command line', () => {
  it('takes a model in every way to write it', async () => {
    for (const words of [
      ['summit'],
      ['-m', 'summit'],
      ['--model', 'summit'],
      ['--model=summit'],
      ['--port', '9000', 'summit'],
    ]) {
      expect((await serve(...words)).models).toEqual(['summit']);
    }
    expect((await serve('a=x', 'b=y', '--model', 'z')).models).toEqual(['a=x', 'b=y', 'z']);
  });

  it('takes letters, with a space or without', async () => {
    expect(await serve('-p', '9000', '-c', '4096')).toMatchObject({
      port: 9000,
      maxModelLen: 4096,
    });
    expect(await serve('-p9000')).toMatchObject({ port: 9000 });
    expect((await serve('-c', '0')).maxModelLen).toBeUndefined();
  });

  it('takes several names as vLLM does, and a negative value', async () => {
    for (const words of [
      ['a', 'b', 'c'],
      ['a,b', 'c'],
      ['a', '--served-model-name', 'b,c'],
      ['["a", "b", "c"]'],
    ]) {
      const options = await serve('model', '--served-model-name', ...words, '--port', '1');
      expect(options).toMatchObject({ servedModelName: ['a', 'b', 'c'], models: ['model'] });
    }
    expect((await serve('--top-k', '-1')).topK).toBe(-1);
    await expect(serve('--served-model-name', 'a', 'model')).rejects.toThrow(
      /--served-model-name took `a model`: put the model before it/,
    );
  });

  it('takes adapters as words, lists and JSON', async () => {
    const wanted = { a: { path: 'x', base: null }, b: { path: 'y', base: null } };
    for (const words of [['a=x', 'b=y'], ['a=x,b=y'], ['{"name": "a", "path": "x"}', 'b=y']]) {
      const options = await serve('--lora-modules', ...words, 'model');
      expect(options).toMatchObject({ loraModules: wanted, models: ['model'] });
    }
    const json = '{"name": "a", "path": "x", "base_model_name": "m"}';
    const { loraModules } = await serve('--lora-modules', json, 'model');
    expect(loraModules).toEqual({ a: { path: 'x', base: 'm' } });
    for (const base of ['""', '1', '[]']) {
      const wrong = `{"name": "a", "path": "x", "base_model_name": ${base}}`;
      await expect(serve('--lora-modules', wrong, 'model')).rejects.toThrow('name=folder');
    }
  });

  it('takes underscores, as Python does', async () => {
    expect(await serve('--max_num_seqs', '4', '--max_queue=5')).toMatchObject({
      maxNumSeqs: 4,
      maxQueue: 5,
    });
  });

  it('leaves words after -- alone', async () => {
    const { operands } = await settingsFrom('run', ['summit', '--', '--no-server', '-x']);
    expect(operands).toEqual(['summit', '--no-server', '-x']);
  });

  test.each([
    ['serve', ['--port', 'abc'], '--port abc: expected a whole number from 0 to 65535'],
    ['serve', ['--port', '99999'], '--port 99999: expected a whole number from 0 to 65535'],
    ['serve', ['--port', '0x50'], '--port 0x50: expected a whole number'],
    ['serve', ['--port', ''], "--port '': expected a whole number"],
    ['serve', ['--max-num-seqs', '0'], '--max-num-seqs 0: expected a whole number of at least 1'],
    ['serve', ['--precision', 'int3'], '--precision int3: expected auto, fp32,'],
    ['serve', ['--max-body', 'huge'], '--max-body huge: expected a size such as 8m'],
    ['serve', ['--ui=maybe'], '--ui maybe: expected true or false'],
    ['serve', ['--resume-key', 'short-one'], '--resume-key: expected at least 16 characters'],
    ['serve', ['--port'], '--port needs a value'],
    ['serve', ['--model', '--port', '80'], '--model needs a value'],
    ['serve', ['--max-num-seq', '4'], 'no flag --max-num-seq; did you mean --max-num-seqs'],
    ['serve', ['--ctx-siz', '4'], 'no flag --ctx-siz; did you mean --ctx-size'],
    ['serve', ['--no-port'], 'there is no flag --no-port; did you mean --port'],
    ['serve', ['-x'], '`chairlift serve --help` lists them'],
    ['serve', ['--num-prompts', '4'], '--num-prompts is a flag of `bench`, not of `serve`'],
    ['run', [], 'run needs <model>'],
    ['ps', ['x'], 'ps takes no word `x`'],
    ['show', ['x', 'y'], 'show takes no further word `y`'],
    ['build', ['x', '--model', 'y'], '--model is given twice'],
    ['completion', ['tcsh'], 'completion tcsh: expected bash, zsh, fish'],
    ['optimize', ['x'], 'optimize needs --out <folder>'],
    ['bench', ['--temperature', 'warm'], '--temperature warm: expected a number of at least 0'],
  ] as const)('of %s with %j is refused: %s', async (command, words, message) => {
    await expect(settingsFrom(command, words)).rejects.toThrow(message);
  });

  it('shows no more than the beginning of what is wrong', async () => {
    const wrong = serve('--port', 'x'.repeat(10_000));
    await expect(wrong).rejects.toThrow(/^--port x{80}\.\.\.: expected/);
  });
});

test('every flag refuses what is no value of it, in our words', async () => {
  for (const name of keysOf(FLAGS)) {
    const spec = specOf(name);
    for (const bad of ['', '\0', 'a b', '-', '1e999', '{}', '[]']) {
      const result = spec.schema?.safeParse(spec.list === undefined ? bad : [bad]);
      const message = result?.error?.issues[0]?.message ?? 'expected';
      expect(message, `${spec.flags} ${bad}`).toMatch(/^expected/);
    }
  }
});

test('names of flags are plain, positive and once in each command', () => {
  for (const command of Object.keys(COMMANDS) as CommandName[]) {
    const names = commandSpec(command).flags.map((option) => nameOf(specOf(option)));
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    expect(names.filter((name) => !/^[a-z]+(-[a-z0-9]+)*$/.test(name))).toEqual([]);
    const letters = commandSpec(command).flags.flatMap((option) => specOf(option).short ?? []);
    expect(letters.filter((letter, at) => letters.indexOf(letter) !== at)).toEqual([]);
  }
  const negative = keysOf(FLAGS).filter((name) => nameOf(specOf(name)).startsWith('no-'));
  expect(negative).toEqual([]);
  // `--no-x` can only be the opposite of `--x`.
  expect(keysOf(FLAGS).some((name) => isSwitch(specOf(name)))).toBe(true);
});

test('help is asked for in several ways', () => {
  const help = (...words: string[]) => readArguments('run', words).help;
  expect(help('--help')).toBe('basic');
  expect(help('-h')).toBe('basic');
  expect(help('--help=all')).toBe('all');
  expect(help('--help-all')).toBe('all');
  expect(help('summit')).toBeNull();
});

/** Every flag of every command: set on the command line, in the environment and in a file. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommandName, COMMANDS, commandSpec } from '../../src/settings/commands.ts';
import {
  choicesOf,
  type FlagSpec,
  isSwitch,
  keyOf,
  nameOf,
  negativeVariableOf,
  variablesOf,
} from '../../src/settings/flags/flag-spec.ts';
import { type OptionName, specOf } from '../../src/settings/options.ts';
import { ConfigFile, settingsFrom } from '../support/settings.ts';

/** One of them is a value of each flag, and not its default. */
const SAMPLES = [
  '7',
  '0.7',
  '300',
  '64',
  '3m',
  '30%',
  'sample',
  'name=value',
  'redis://name:word@host:1',
  'https://chat.example',
  'http://10.0.0.7:8000',
  'tcp://127.0.0.1:5557',
  '10.0.0.1:8000',
  'ttft:200',
  '1,5',
  '{"temperature":0.5}',
  'a secret of many characters',
  '/llm',
  '{"image":3}',
  'images.example',
];

let file: ConfigFile;
beforeAll(async () => {
  file = await ConfigFile.create();
});
afterAll(async () => file.remove());

function sampleOf(spec: FlagSpec): string {
  const byDefault = JSON.stringify(spec.default);
  for (const text of [...choicesOf(spec).toReversed(), ...SAMPLES]) {
    const result = spec.schema?.safeParse(spec.list === undefined ? text : text.split(','));
    if (result?.success === true && JSON.stringify(result.data) !== byDefault) return text;
  }
  throw new Error(`no sample is a value of ${spec.flags}`);
}

/** Words that a command takes besides, to be started at all. */
function needed(command: CommandName, option: OptionName): { words: string[]; flags: string[] } {
  const { operands, flags } = commandSpec(command);
  return {
    words: operands.filter(({ isOptional }) => isOptional !== true).map(() => 'bash'),
    flags: flags
      .map((name) => (name === option ? null : specOf(name)))
      .flatMap((spec) => (spec?.isRequired === true ? [`--${nameOf(spec)}`, sampleOf(spec)] : [])),
  };
}

interface Ways {
  /** Words of a command line, variables, and lines of a file, which mean the same. */
  readonly words: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly yaml: string;
}

/** Each with what it does to the flag: a switch is turned on and off, and by its opposite too. */
function waysOf(spec: FlagSpec): readonly Ways[] {
  const [flag, key] = [`--${nameOf(spec)}`, keyOf(spec)];
  const [variable = ''] = variablesOf(spec);
  if (!isSwitch(spec)) {
    const text = sampleOf(spec);
    return [
      { words: [flag, text], env: { [variable]: text }, yaml: `${key}: ${JSON.stringify(text)}` },
    ];
  }
  const off = `--no-${nameOf(spec)}`;
  const negative = negativeVariableOf(spec);
  return [
    { words: [flag], env: { [variable]: 'true' }, yaml: `${key}: true` },
    { words: [off], env: { [variable]: 'false' }, yaml: `${key}: false` },
    { words: [off], env: { [negative]: '1' }, yaml: `no-${key}: yes` },
    { words: [flag], env: { [negative]: 'Off' }, yaml: `no-${key}: no` },
    { words: [`${flag}=no`], env: { [variable]: 'NO' }, yaml: `${key}: off` },
  ];
}

async function settingsOf(command: CommandName, option: OptionName, ways: Partial<Ways>) {
  const { words, flags } = needed(command, option);
  const args = [...words, ...flags, ...(ways.words ?? [])];
  const { options } =
    ways.yaml === undefined
      ? await settingsFrom(command, args, ways.env)
      : await file.open(command, ways.yaml, args);
  return JSON.stringify({ ...options, config: null });
}

test('each flag is the same on the command line, in the environment and in a file', async () => {
  let numSettings = 0;
  const flags = new Set<OptionName>();
  const differences: string[] = [];
  const stuck: string[] = [];
  for (const command of Object.keys(COMMANDS) as CommandName[]) {
    const unset = await settingsOf(command, 'config', {});
    for (const option of commandSpec(command).flags) {
      // A file can't name another.
      if (option === 'config') continue;
      const spec = specOf(option);
      flags.add(option);
      const typedAs = new Map<string, string>();
      for (const ways of waysOf(spec)) {
        numSettings++;
        const typed = await settingsOf(command, option, { words: ways.words });
        const set = await settingsOf(command, option, { env: ways.env });
        const written = await settingsOf(command, option, { yaml: ways.yaml });
        typedAs.set(ways.words.join(' '), typed);
        const isLike = typed === set && set === written;
        if (!isLike) differences.push(`${command} ${ways.words.join(' ')}`);
        // A setting that changes nothing would prove nothing.
        if (isSwitch(spec) || spec.isRequired === true) continue;
        expect(typed, `${command} ${spec.flags}`).not.toBe(unset);
      }
      if (!isSwitch(spec)) continue;
      // The last two of `--x`, `--no-x` and `--x=no` mean the same.
      const [on, off, no] = [...typedAs.values()];
      if (on === off || off !== no) stuck.push(`${command} ${spec.flags}`);
    }
  }
  console.log(
    `${flags.size} flags of ${Object.keys(COMMANDS).length} commands: ${numSettings} settings x 3 ways, differences ${differences.length}`,
  );
  expect(differences).toEqual([]);
  expect(stuck).toEqual([]);
});

test('switches are really switched', async () => {
  const log = async (ways: Partial<Ways>) =>
    (await file.open('serve', ways.yaml ?? '', ways.words, ways.env)).options.logPrompts;
  expect(await log({ env: { CHAIRLIFT_LOG_PROMPTS: 'false' } })).toBe(false);
  expect(await log({ env: { CHAIRLIFT_LOG_PROMPTS: 'true' } })).toBe(true);
  const ui = async (ways: Partial<Ways>) =>
    (await file.open('serve', ways.yaml ?? '', ways.words, ways.env)).options.ui;
  expect(await ui({})).toBe(true);
  expect(await ui({ words: ['--no-ui'] })).toBe(false);
  expect(await ui({ env: { CHAIRLIFT_NO_UI: '1' } })).toBe(false);
  expect(await ui({ env: { CHAIRLIFT_NO_UI: 'false' } })).toBe(true);
});

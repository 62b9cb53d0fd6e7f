/** Parses a command line, flag by flag. */
import { parseArgs } from 'node:util';
import { alikeNames } from '../front/registry/near-names.ts';
import type { CommandSpec } from './command-spec.ts';
import { type CommandName, COMMANDS, commandSpec } from './commands.ts';
import { FLAG_LIKENESS, isSwitch, nameOf } from './flags/flag-spec.ts';
import { readSwitch } from './flags/flag-value.ts';
import { translatePeerFlags } from './flags/peer-flags.ts';
import { SAME } from './flags/peer-same.ts';
import { type OptionName, specOf } from './options.ts';
import { UsageError } from './usage-error.ts';
import { told } from '../told.ts';

export interface GivenFlag {
  readonly option: OptionName;
  /** As it was typed, such as `--port`. */
  readonly flag: string;
  readonly value: string | boolean;
  /** One of the words after a flag's first value. */
  readonly isWord?: boolean;
}

export interface Arguments {
  /** In their order. */
  readonly given: readonly GivenFlag[];
  /** Words that are no flags. */
  readonly operands: readonly string[];
  /** Whether help is asked for. */
  readonly help: 'basic' | 'all' | null;
  /** Notes on flags that have no effect. */
  readonly notes: readonly string[];
}

type Token = NonNullable<ReturnType<typeof parseArgs>['tokens']>[number];
type OptionToken = Extract<Token, { kind: 'option' }>;

/** @throws UsageError */
export function readArguments(name: CommandName, args: readonly string[]): Arguments {
  const command = commandSpec(name);
  const names = new Map(command.flags.map((option) => [nameOf(specOf(option)), option]));
  const { args: own, notes } = translatePeerFlags(args, [...names.values()].map(specOf));
  const { tokens } = parseArgs({
    args: own,
    options: optionsOf(command),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given: GivenFlag[] = [];
  const operands: string[] = [];
  let help: Arguments['help'] = null;
  let before: OptionName | null = null;
  for (const token of tokens) {
    if (token.kind === 'positional') {
      const words = before === null ? undefined : specOf(before).words;
      if (before !== null && words?.test(token.value)) {
        const flag = `--${nameOf(specOf(before))}`;
        given.push({ option: before, flag, value: token.value, isWord: true });
      } else {
        operands.push(token.value);
        before = null;
      }
      continue;
    }
    before = null;
    if (token.kind === 'option-terminator') continue;
    if (token.name === 'help' || token.name === 'help-all') {
      help = token.name === 'help-all' || token.value === 'all' ? 'all' : 'basic';
      continue;
    }
    const flag = readFlag(name, token, names);
    given.push(flag);
    before = flag.option;
  }
  if (help === null) {
    requireOperands(name, command, operands);
    requireModelBeforeNames(given, operands);
  }
  return { given: [...operandFlags(command, operands, given), ...given], operands, help, notes };
}

function optionsOf(command: CommandSpec) {
  const options: Record<string, { type: 'string' | 'boolean'; short?: string }> = {
    help: { type: 'boolean', short: 'h' },
    'help-all': { type: 'boolean' },
  };
  for (const option of command.flags) {
    const spec = specOf(option);
    const type = isSwitch(spec) ? 'boolean' : 'string';
    options[nameOf(spec)] = { type, ...(spec.short === undefined ? {} : { short: spec.short }) };
    if (isSwitch(spec)) options[`no-${nameOf(spec)}`] = { type };
  }
  return options;
}

function readFlag(
  command: CommandName,
  { name, rawName, value }: OptionToken,
  names: ReadonlyMap<string, OptionName>,
): GivenFlag {
  const option = names.get(name) ?? names.get(name.replace(/^no-/, ''));
  const spec = option && specOf(option);
  if (option === undefined || spec === undefined || (!names.has(name) && !isSwitch(spec))) {
    throw unknownFlag(command, rawName, names);
  }
  if (isSwitch(spec)) {
    const isOn = value === undefined || readSwitch(value, { source: 'flag', flag: rawName });
    return { option, flag: rawName, value: isOn === names.has(name) };
  }
  // A flag in the place of its value.
  const isFlag = value?.startsWith('--') === true && names.has(value.slice('--'.length));
  if (value === undefined || isFlag) throw new UsageError(`${rawName} needs a value`);
  return { option, flag: rawName, value };
}

function unknownFlag(
  command: CommandName,
  flag: string,
  options: ReadonlyMap<string, OptionName>,
): UsageError {
  const shown = told(flag, 100);
  const bare = flag.replace(/^--(no-)?/, '');
  const isNegative = bare !== flag.replace(/^--/, '');
  const other = Object.entries<CommandSpec>(COMMANDS).find(
    ([each, { flags }]) =>
      each !== command &&
      flags.some((option) => {
        const spec = specOf(option);
        return nameOf(spec) === bare && (!isNegative || isSwitch(spec));
      }),
  );
  if (other !== undefined) {
    return new UsageError(`${shown} is a flag of \`${other[0]}\`, not of \`${command}\``);
  }
  const names = [...options]
    .filter(([, option]) => !isNegative || isSwitch(specOf(option)))
    .map(([name]) => name);
  // Suggests names of vLLM and llama-server, too: these are typed, and mistyped, as often.
  const theirs = [...SAME]
    .filter(([name, { to }]) => name.startsWith('--') && names.includes(to))
    .map(([name]) => name.slice('--'.length));
  const isOurs = options.has(bare);
  const near = isOurs ? [bare] : alikeNames(bare, [...names, ...theirs], FLAG_LIKENESS).slice(0, 3);
  const hint =
    near.length === 0 || !flag.startsWith('--')
      ? `\`chairlift ${command} --help\` lists them`
      : `did you mean ${near.map((name) => `--${isNegative && !isOurs ? 'no-' : ''}${name}`).join(' or ')}?`;
  return new UsageError(`there is no flag ${shown}; ${hint}`);
}

function requireOperands(
  name: CommandName,
  { operands: wanted }: CommandSpec,
  operands: readonly string[],
): void {
  const missing = wanted[operands.length];
  if (missing !== undefined && missing.isOptional !== true) {
    throw new UsageError(`${name} needs <${missing.name}>: ${missing.meaning}`);
  }
  const takesAll = wanted.at(-1)?.isRepeated === true;
  const extra = operands[wanted.length];
  if (extra !== undefined && !takesAll) {
    throw new UsageError(
      `${name} takes no ${operands.length === 1 ? '' : 'further '}word \`${extra}\``,
    );
  }
  for (const [index, { choices }] of wanted.entries()) {
    const word = operands[index];
    if (choices !== undefined && word !== undefined && !choices.includes(word)) {
      throw new UsageError(`${name} ${word}: expected ${choices.join(', ')}`);
    }
  }
}

/** Refuses `serve --served-model-name a b`, where `b` may have been meant as the model. */
function requireModelBeforeNames(given: readonly GivenFlag[], operands: readonly string[]): void {
  const names = given.filter(({ option }) => option === 'servedModelName');
  const hasModel = operands.length > 0 || given.some(({ option }) => option === 'models');
  if (hasModel || !names.some(({ isWord }) => isWord)) return;
  const words = names.map(({ value }) => value);
  throw new UsageError(
    `--served-model-name took \`${words.join(' ')}\`: put the model before it, or write ${words.join(',')}`,
  );
}

/** Words that stand for a flag. @throws UsageError where the flag is there, too */
function operandFlags(
  { operands: wanted }: CommandSpec,
  operands: readonly string[],
  given: readonly GivenFlag[],
): GivenFlag[] {
  return operands.flatMap((value, index) => {
    const { option } = wanted[Math.min(index, wanted.length - 1)] ?? {};
    if (option === undefined) return [];
    const { list } = specOf(option);
    const flag = `--${nameOf(specOf(option))}`;
    if (list === undefined && given.some((other) => other.option === option)) {
      throw new UsageError(`${flag} is given twice: as a flag, and as the word \`${value}\``);
    }
    return [{ option, flag, value }];
  });
}

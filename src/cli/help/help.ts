/** Help, from the tables of commands and flags. */
import { type CommandName, COMMANDS, commandSpec } from '../../settings/commands.ts';
import type { CommandSpec, Operand } from '../../settings/command-spec.ts';
import {
  defaultTextOf,
  type FlagSpec,
  isSwitch,
  nameOf,
  placeholderOf,
  variablesOf,
} from '../../settings/flags/flag-spec.ts';
import { GROUPS, type OptionName, specOf } from '../../settings/options.ts';
import { wrap } from './wrap.ts';

/** Characters of a line. */
const WIDTH = 100;
/** The most of the left column. */
const LEFT = 33;

const SHARED: readonly OptionName[] = COMMANDS.serve.flags;

/** Help of the program: its commands. */
export function programHelp(): string {
  const names = Object.keys(COMMANDS) as CommandName[];
  const rows = names.map((name) => {
    const { summary, operands, alias } = commandSpec(name);
    const usage = [name, ...operands.map(operandText)].join(' ');
    return row(usage, alias === undefined ? summary : `${summary} (also \`${alias}\`)`);
  });
  return [
    'Usage: chairlift <command> [flags]',
    '',
    'A continuous-batching token server for ONNX language models.',
    '',
    ...rows,
    '',
    '`chairlift <command> --help` has the flags of a command, --help-all all of them. Each is also an',
    'environment variable (--max-num-seqs is CHAIRLIFT_MAX_NUM_SEQS) and a key of the YAML file of',
    '--config. -V prints the version.',
    '',
    'Examples:',
    ...['serve', 'run'].flatMap((name) => examplesOf(commandSpec(name as CommandName))),
  ].join('\n');
}

/** Help of a command: the flags that people use first, or all of them. */
export function commandHelp(name: CommandName, size: 'basic' | 'all'): string {
  const spec = commandSpec(name);
  const { operands, flags, examples = [] } = spec;
  const isShort = size === 'basic';
  const shown = shownFlags(spec, isShort);
  const numShown = [...shown.values()].flat().length;
  const usage = ['Usage: chairlift', name, ...operands.map(operandText), '[flags]'].join(' ');
  const words = operands
    .filter(({ option }) => option === undefined)
    .map((operand) => row(operand.name, operand.meaning));
  const parts = [
    [usage],
    wrap(sentence(spec.summary), WIDTH),
    words,
    ...[...shown].map(([heading, specs]) => [
      `${heading}:`,
      ...specs.map((each) => row(flagText(each), flagMeaning(each, isShort))),
    ]),
    numShown === flags.length
      ? []
      : [
          `\`chairlift ${name} --help-all\` has all ${flags.length} flags. Each is also a variable,`,
          '--port CHAIRLIFT_PORT, and a key of the YAML file of --config.',
        ],
    examples.length === 0 ? [] : ['Examples:', ...examplesOf(spec)],
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

/** By heading. Of what other commands have too, short help shows the basic ones. */
function shownFlags({ flags }: CommandSpec, isShort: boolean): Map<string, FlagSpec[]> {
  const shown = new Map<string, FlagSpec[]>();
  for (const { title, section, flags: table } of GROUPS) {
    const names = flags.filter((name) => name in table);
    const isShared = SHARED.some((name) => name in table);
    const specs = names
      .map((name) => specOf(name))
      .filter(({ isBasic = false }) => !isShort || !isShared || isBasic);
    const heading = isShort ? section : title;
    if (specs.length > 0) shown.set(heading, [...(shown.get(heading) ?? []), ...specs]);
  }
  return shown;
}

function flagText(spec: FlagSpec): string {
  const short = spec.short === undefined ? '    ' : `-${spec.short}, `;
  const no = isSwitch(spec) && spec.default === true ? '[no-]' : '';
  return `  ${short}--${no}${nameOf(spec)} ${placeholderOf(spec)}`.trimEnd();
}

function flagMeaning(spec: FlagSpec, isShort: boolean): string {
  const text = defaultTextOf(spec);
  // The default of a switch that is off goes without saying.
  const byDefault = text === null || text === 'off' ? [] : [`default: ${text}`];
  const [own = '', ...others] = variablesOf(spec);
  // The name of its own variable follows from a rule.
  const variables = isShort
    ? []
    : [...(spec.scope === undefined ? [] : [own]), ...others].map((name) => `env: ${name}`);
  const notes = [...byDefault, ...variables, ...(spec.isRequired === true ? ['needed'] : [])];
  return notes.length === 0 ? spec.description : `${spec.description} (${notes.join(', ')})`;
}

/** Two columns; what is too long goes on below. */
function row(left: string, right: string): string {
  const indented = left.startsWith('  ') ? left : `  ${left}`;
  const [first = '', ...rest] = wrap(right, WIDTH - LEFT - 2);
  const margin = ' '.repeat(LEFT + 2);
  const lines =
    indented.length > LEFT
      ? [indented, `${margin}${first}`]
      : [`${indented.padEnd(LEFT + 2)}${first}`];
  return [...lines, ...rest.map((line) => `${margin}${line}`)].join('\n');
}

function operandText(operand: Operand): string {
  const inner = `${operand.name}${operand.isRepeated === true ? '...' : ''}`;
  return operand.isOptional === true ? `[${inner}]` : `<${inner}>`;
}

function examplesOf({ examples = [] }: CommandSpec): string[] {
  return examples.map((line) => `  ${line}`);
}

function sentence(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}

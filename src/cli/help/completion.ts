/** Completion of commands, flags and their values in shells, from the tables. */
import { type CommandName, COMMANDS, commandSpec } from '../../settings/commands.ts';
import {
  choicesOf,
  type FlagSpec,
  isSwitch,
  nameOf,
  placeholderOf,
} from '../../settings/flags/flag-spec.ts';
import { specOf } from '../../settings/options.ts';
import type { Settings } from '../../settings/settings.ts';
import { bashCompletion } from './completion-bash.ts';
import { fishCompletion } from './completion-fish.ts';
import { zshCompletion } from './completion-zsh.ts';
import type { CompletedCommand, CompletedFlag, CompletedValue } from './completed.ts';

const SCRIPTS: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** `chairlift completion`: prints a script for a shell. */
export async function completion({ operands }: Settings<'completion'>): Promise<void> {
  const [shell = ''] = operands;
  console.log(completionScript(shell));
}

/** @param shell bash, zsh or fish */
export function completionScript(shell: string): string {
  const names = Object.keys(COMMANDS) as CommandName[];
  return SCRIPTS[shell]?.(names.map((name) => completedCommand(name))) ?? '';
}

function completedCommand(name: CommandName): CompletedCommand {
  const { summary, alias, flags, operands } = commandSpec(name);
  const choices = operands[0]?.choices;
  return {
    names: [name, ...(alias === undefined ? [] : [alias])],
    summary,
    flags: [
      ...flags.flatMap((option) => completedFlags(specOf(option))),
      { name: 'help', short: 'h', meaning: 'the flags that people use first', value: null },
      { name: 'help-all', short: null, meaning: 'all flags', value: null },
    ],
    operand: choices === undefined ? { kind: 'file' } : { kind: 'words', words: choices },
  };
}

function completedFlags(spec: FlagSpec): CompletedFlag[] {
  const { description: meaning, short = null } = spec;
  const name = nameOf(spec);
  if (!isSwitch(spec)) return [{ name, short, meaning, value: valueOf(spec) }];
  return [
    { name, short, meaning, value: null },
    { name: `no-${name}`, short: null, meaning: `not: ${meaning}`, value: null },
  ];
}

function valueOf(spec: FlagSpec): CompletedValue {
  const words = choicesOf(spec);
  if (words.length > 0) return { kind: 'words', words };
  const placeholder = placeholderOf(spec);
  if (/file|model|teacher/.test(placeholder)) return { kind: 'file' };
  return { kind: placeholder.includes('folder') ? 'folder' : 'any' };
}

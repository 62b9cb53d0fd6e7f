import { expect, test } from 'vitest';
import { type CommandName, COMMANDS, commandSpec } from '../../../src/settings/commands.ts';
import { SERVE_FLAGS } from '../../../src/settings/flag-sets.ts';
import { nameOf } from '../../../src/settings/flags/flag-spec.ts';
import { commandHelp, programHelp } from '../../../src/cli/help/help.ts';
import { wrap } from '../../../src/cli/help/wrap.ts';
import { specOf } from '../../../src/settings/options.ts';

const names = Object.keys(COMMANDS) as CommandName[];

test.each(names)('help of %s is one screen', (name) => {
  const lines = commandHelp(name, 'basic').split('\n');
  expect(lines.length).toBeLessThanOrEqual(45);
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
});

test('help of the program is one screen, and has every command', () => {
  const lines = programHelp().split('\n');
  expect(lines.length).toBeLessThanOrEqual(45);
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
  for (const name of names) expect(programHelp()).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
});

test('serve shows 20 flags by groups, and examples at its end', () => {
  const help = commandHelp('serve', 'basic');
  const basic = SERVE_FLAGS.filter((option) => specOf(option).isBasic === true);
  expect(basic).toHaveLength(20);
  for (const option of basic) expect(help).toContain(`--${nameOf(specOf(option))} `);
  expect(help.match(/^\w.+:$/gm)).toEqual([
    'Model:',
    'Network and keys:',
    'Memory and speed:',
    'Operating:',
    'Examples:',
  ]);
  expect(help).toContain(`all ${SERVE_FLAGS.length} flags`);
});

test('all flags are in --help-all, with defaults and variables of other tools', () => {
  for (const name of names) {
    const help = commandHelp(name, 'all').replaceAll(/\s+/g, ' ');
    for (const option of commandSpec(name).flags) {
      expect(help).toMatch(new RegExp(`--(\\[no-\\])?${nameOf(specOf(option))}\\b`));
    }
  }
  const serve = commandHelp('serve', 'all').replaceAll(/\s+/g, ' ');
  expect(serve).toContain('--[no-]ui the page for browsers at / (default: on)');
  expect(serve).toContain('(default: 8000, env: PORT)');
  expect(commandHelp('bench', 'all')).toContain('CHAIRLIFT_BENCH_REQUEST_TIMEOUT');
});

test('text is wrapped at words', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrap('unbreakable', 4)).toEqual(['unbreakable']);
});

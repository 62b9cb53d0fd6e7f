/** Settings that a program gives, in place of words of a command line. */
import { alikeNames } from '../front/registry/near-names.ts';
import { told } from '../told.ts';
import type { GivenFlag } from './arguments.ts';
import { commandSpec } from './commands.ts';
import { FLAG_LIKENESS, isSwitch } from './flags/flag-spec.ts';
import { type OptionName, specOf } from './options.ts';
import type { ProgramOptions } from './program-options.ts';
import { usePlaces } from './places.ts';
import { Settings } from './settings.ts';
import { UsageError } from './usage-error.ts';

/**
 * The settings of a server. As on a command line, what is given wins over the environment, and both over
 * the file of `config`.
 * @throws UsageError naming the setting that there is not, or that has a bad value
 */
export async function programSettings(
  given: ProgramOptions<OptionName>,
): Promise<Settings<'serve'>> {
  const flags = Object.entries(given).flatMap(([name, value]) => flagsOf(name, value));
  const settings = await Settings.open('serve', {
    given: flags,
    operands: [],
    help: null,
    notes: [],
  });
  await usePlaces(settings.options);
  return settings;
}

function flagsOf(name: string, value: unknown): GivenFlag[] {
  if (value === undefined) return [];
  const option = optionOf(name);
  const spec = specOf(option);
  if (isSwitch(spec)) {
    if (typeof value === 'boolean') return [{ option, flag: name, value }];
    throw new UsageError(`${name}: expected true or false`);
  }
  if (spec.list === undefined) return [{ option, flag: name, value: textOf(name, value) }];
  if (!Array.isArray(value)) throw new UsageError(`${name}: expected a list`);
  const texts = value.map((item: unknown) => textOf(name, item));
  // A list in JSON is not split at commas.
  return (spec.list === 'commas' ? [JSON.stringify(texts)] : texts).map((text) => ({
    option,
    flag: name,
    value: text,
  }));
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw new UsageError(`${name}: expected a text or a number`);
}

function optionOf(name: string): OptionName {
  const options = commandSpec('serve').flags;
  const option = options.find((each) => each === name);
  if (option !== undefined) return option;
  const [near] = alikeNames(name, options, FLAG_LIKENESS);
  const hint = near === undefined ? 'they are called as flags, in camelCase' : `is it ${near}?`;
  throw new UsageError(`there is no setting ${told(name, 100)}; ${hint}`);
}

/** The options of a command as an operator sees them: what is in force, and who said so. */
import type { Command, Option } from 'commander';
import type { Setting, SettingSource } from '../server/status/settings.ts';
import { ALL_OPTIONS, isSecretOption, type OptionName } from './options.ts';

/** By commander's names of them. */
const SOURCES: Readonly<Record<string, SettingSource>> = {
  cli: 'flag',
  env: 'environment',
  config: 'config file',
};

/** @param options the values in force, which may have changed since the command was parsed */
export function settingsOf(
  command: Command,
  options: Readonly<Record<string, unknown>>,
): Setting[] {
  return command.options.map((option) => settingOf(command, option, options));
}

function settingOf(
  command: Command,
  option: Option,
  options: Readonly<Record<string, unknown>>,
): Setting {
  const attribute = option.attributeName();
  const name: OptionName | undefined = ALL_OPTIONS.find((each) => each === attribute);
  const [meaning = '', defaultText = null] = option.description.split(/ \(default: (.*)\)$/);
  const ownDefault: unknown = option.defaultValue;
  return {
    flag: option.long ?? option.flags,
    environment: option.envVar ?? '',
    meaning,
    source: SOURCES[command.getOptionValueSource(attribute) ?? ''] ?? 'default',
    value: options[attribute],
    defaultText: defaultText ?? (ownDefault === undefined ? null : textOf(option)),
    isSecret: name !== undefined && isSecretOption(name),
  };
}

function textOf({ defaultValue, defaultValueDescription }: Option): string {
  if (defaultValueDescription !== undefined) return defaultValueDescription;
  return typeof defaultValue === 'string' ? defaultValue : JSON.stringify(defaultValue);
}

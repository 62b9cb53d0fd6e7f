/** Flags in a YAML file: each by its name without dashes. */
import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, type Option } from 'commander';
import { parse, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { nearNames } from '../front/registry/near-names.ts';
import { UsageError } from './usage-error.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const file = z.record(z.string(), z.union([scalar, z.array(scalar)])).nullable();

/** What a file says, by the names of flags. */
export type ConfigValues = Readonly<
  Record<string, z.infer<typeof scalar> | z.infer<typeof scalar>[]>
>;

/** Where a value comes from that a file may not change. */
const STRONGER: readonly unknown[] = ['cli', 'env'];

/** @throws UsageError when it can't be read, or is no list of flags and values */
export async function readConfigFile(path: string): Promise<ConfigValues> {
  let json: unknown;
  try {
    json = parse(await readFile(path, 'utf8'));
  } catch (error) {
    const isOfYaml = error instanceof YAMLParseError;
    const reason = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
    throw new UsageError(isOfYaml ? `${path}: ${reason}` : `--config: ${reason}`, { cause: error });
  }
  const parsed = file.safeParse(json ?? null);
  if (parsed.success) return parsed.data ?? {};
  const where = parsed.error.issues[0]?.path.join('.') ?? '';
  const what =
    where === '' ? 'expected lines of `flag: value`' : `${where}: expected a value, or a list`;
  throw new UsageError(`${path}: ${what}`);
}

/**
 * The checked values of a command's options that a file sets; what the command line or the
 * environment sets is left out.
 * @throws UsageError for a name that is no flag, or a bad value
 */
export function configuredOptions(
  command: Command,
  path: string,
  values: ConfigValues,
): ReadonlyMap<string, unknown> {
  const options = new Map(command.options.map((option) => [nameOf(option), option]));
  options.delete('config');
  const configured = new Map<string, unknown>();
  for (const [name, value] of Object.entries(values)) {
    // `prefix-caching: false` says the same as `no-prefix-caching: true`.
    const option = options.get(name) ?? options.get(`no-${name}`);
    if (option === undefined) throw unknownFlag(path, name, [...options.keys()]);
    const attribute = option.attributeName();
    if (STRONGER.includes(command.getOptionValueSource(attribute))) continue;
    try {
      configured.set(attribute, valueOf(option, name, value));
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      throw new UsageError(`${path}: ${name}: ${error.message}`, { cause: error });
    }
  }
  return configured;
}

/** @throws InvalidArgumentError */
function valueOf(option: Option, name: string, value: ConfigValues[string]): unknown {
  if (!option.required) {
    if (typeof value !== 'boolean') throw new InvalidArgumentError('expected true or false.');
    return name.startsWith('no-') ? !value : value;
  }
  const texts = Array.isArray(value) ? value.map(String) : [String(value)];
  // Others take lists with commas.
  const parts = option.long === '--model' ? texts : [texts.join(',')];
  return parts.reduce<unknown>((before, text) => option.parseArg?.(text, before), undefined);
}

function nameOf({ long, flags }: Option): string {
  return (long ?? flags).replace(/^--/, '');
}

function unknownFlag(path: string, name: string, names: readonly string[]): UsageError {
  const near = nearNames(name, names).map((other) => `\`${other}\``);
  const hint = near.length > 0 ? `; there is ${near.join(', ')}` : '';
  return new UsageError(`${path}: there is no flag \`${name.slice(0, 100)}\`${hint}`);
}

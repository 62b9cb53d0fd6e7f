/** Flags in a YAML file: each by its name without dashes. */
import { parse } from 'yaml';
import { z } from 'zod';
import { readNamed } from '../files/named-files.ts';
import { reasonOf } from '../files/system-error.ts';
import { told } from '../told.ts';
import { UsageError } from './usage-error.ts';

const scalar = z.string().min(1);
const file = z.record(z.string(), z.union([scalar, z.array(scalar)])).nullable();

/** The texts of each flag that a file has. */
export type ConfigValues = ReadonlyMap<string, readonly string[]>;

/** @throws UserError when it can't be read, or is no list of flags and values */
export async function readConfigFile(path: string): Promise<ConfigValues> {
  return parseConfig(path, await readNamed('--config', path));
}

/** The values of a text in YAML. @param path for errors. @throws as readConfigFile */
export function parseConfig(path: string, yaml: string): ConfigValues {
  let json: unknown;
  try {
    // Without numbers and the like: a key of digits stays what it is.
    json = parse(yaml, { schema: 'failsafe', logLevel: 'error' });
  } catch (error) {
    // Not of its own kind alone: an alias without an anchor is a ReferenceError.
    const [reason = ''] = reasonOf(error).split('\n', 1);
    throw new UsageError(`${path}: ${told(reason, 200)}`, { cause: error });
  }
  const parsed = file.safeParse(json ?? null);
  if (parsed.success) {
    const entries = Object.entries(parsed.data ?? {});
    return new Map(entries.map(([key, value]) => [key, [value].flat()]));
  }
  const where = parsed.error.issues[0]?.path.join('.') ?? '';
  const what =
    where === ''
      ? 'expected lines of `flag: value`'
      : `${told(where, 100)}: expected a value, or a list`;
  throw new UsageError(`${path}: ${what}`);
}

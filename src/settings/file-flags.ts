/** Flags of a configuration file, as one command sees them. */
import { createHash } from 'node:crypto';
import { alikeNames } from '../front/registry/near-names.ts';
import type { CommandSpec } from './command-spec.ts';
import { type CommandName, COMMANDS } from './commands.ts';
import { FLAG_LIKENESS, isSwitch, keyOf } from './flags/flag-spec.ts';
import { peerKey } from './flags/peer-flags.ts';
import { type OptionName, specOf } from './options.ts';
import { UsageError } from './usage-error.ts';
import { told } from '../told.ts';

interface FileFlag {
  /** As our flag is called, or its opposite. */
  readonly key: string;
  readonly texts: readonly string[];
}

export interface FileFlags {
  readonly path: string;
  /** In the order of the file. */
  readonly values: ReadonlyMap<OptionName, FileFlag>;
}

/** Keys of all commands: a file may be for several. */
const ALL_KEYS = optionsByKey(Object.values<CommandSpec>(COMMANDS).flatMap(({ flags }) => flags));

/** @throws UsageError for a key that no command knows */
export async function readFileFlags(command: CommandName, path: string): Promise<FileFlags> {
  const { flags, reads = [], isLenient = false }: CommandSpec = COMMANDS[command];
  const own = optionsByKey([...flags, ...reads]);
  const values = new Map<OptionName, { key: string; texts: readonly string[] }>();
  // Not a static import: few commands are given a file.
  const { readConfigFile } = await import('./config-file.ts');
  const configured = await readConfigFile(path);
  for (const [written, texts] of configured) {
    const peer = ALL_KEYS.has(written) ? null : peerKey(path, written, texts);
    if (peer?.kind === 'needless') continue;
    const { key, texts: ours } = peer ?? { key: written, texts };
    const name = own.get(key);
    if (name === undefined && !isLenient && !ALL_KEYS.has(key)) {
      throw unknownKey(path, written, [...ALL_KEYS.keys()]);
    }
    if (name === undefined) continue;
    if (values.has(name)) throw new UsageError(`${path}: ${written}: this flag is there twice`);
    values.set(name, { key, texts: ours });
  }
  return { path, values };
}

/** Each option by its key, a switch by that of its opposite too. */
function optionsByKey(names: readonly OptionName[]): Map<string, OptionName> {
  const keys = names
    .filter((name) => name !== 'config')
    .flatMap((name) => {
      const spec = specOf(name);
      const key = keyOf(spec);
      return (isSwitch(spec) ? [key, `no-${key}`] : [key]).map((each) => [each, name] as const);
    });
  return new Map(keys);
}

function unknownKey(path: string, key: string, keys: readonly string[]): UsageError {
  const near = alikeNames(key, keys, FLAG_LIKENESS).map((other) => `\`${other}\``);
  const hint = near.length > 0 ? `; there is ${near.join(', ')}` : '';
  return new UsageError(`${path}: there is no flag \`${told(key, 100)}\`${hint}`);
}

/** Keys that a file sets differently from before. @param except options that take effect at once */
export function changedKeys(
  before: FileFlags,
  now: FileFlags,
  except: readonly OptionName[],
): string[] {
  const names = new Set([...before.values.keys(), ...now.values.keys()]);
  return [...names]
    .filter((name) => {
      const [a, b] = [before.values.get(name), now.values.get(name)];
      return !except.includes(name) && JSON.stringify(a) !== JSON.stringify(b);
    })
    .map((name) => keyOf(specOf(name)));
}

/** With digests in the place of secrets: enough to see that they change. */
export function withoutSecretTexts({ path, values }: FileFlags): FileFlags {
  const digest = (text: string) => createHash('sha256').update(text).digest('hex');
  const entries = [...values].map(([name, { key, texts }]) => {
    const isSecret = specOf(name).secret !== undefined;
    return [name, { key, texts: isSecret ? texts.map(digest) : texts }] as const;
  });
  return { path, values: new Map(entries) };
}

/** Settings of a command, from what a user would type, set or write. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandName } from '../../src/settings/commands.ts';
import { readArguments } from '../../src/settings/arguments.ts';
import { Settings } from '../../src/settings/settings.ts';

/** @param env in place of the real environment */
export async function settingsFrom<C extends CommandName>(
  command: C,
  words: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Settings<C>> {
  return Settings.open(command, readArguments(command, words), env);
}

/** A configuration file of a test. */
export class ConfigFile {
  readonly path: string;
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.path = join(folder, 'chairlift.yaml');
  }

  static async create(): Promise<ConfigFile> {
    return new ConfigFile(await mkdtemp(join(tmpdir(), 'chairlift-config-')));
  }

  /** Settings of a command that is started with `yaml` in its file. */
  async open<C extends CommandName>(
    command: C,
    yaml: string,
    words: readonly string[] = [],
    env: NodeJS.ProcessEnv = {},
  ): Promise<Settings<C>> {
    await writeFile(this.path, yaml);
    return settingsFrom(command, ['--config', this.path, ...words], env);
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }
}

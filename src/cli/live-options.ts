/** The options of a running server: some of them follow their file. */
import type { Command } from 'commander';
import type { Logger } from 'pino';
import { configuredOptions, type ConfigValues, readConfigFile } from './config-file.ts';
import type { Setting } from '../server/status/settings.ts';
import type { OptionName } from './options.ts';
import { settingsOf } from './settings.ts';
import { UsageError } from './usage-error.ts';

/** What takes effect while the server runs: keys, limits and the log level. */
const RELOADED: readonly OptionName[] = [
  'apiKey',
  'rateLimitRequests',
  'rateLimitTokens',
  'requestTimeout',
  'priorityRange',
  'logLevel',
];

/** @param command was parsed */
export class LiveOptions<T extends { readonly config?: string | undefined }> {
  /** Its fields change when the file is read anew. */
  readonly options: T;
  readonly #command: Command;
  #values: ConfigValues;

  private constructor(command: Command, options: T, values: ConfigValues) {
    this.#command = command;
    this.options = options;
    this.#values = values;
  }

  /**
   * Reads the file of --config, if there is one: the command line and the environment win over it.
   * @param read gives the command's options
   * @throws UsageError
   */
  static async open<T extends { readonly config?: string | undefined }>(
    command: Command,
    read: (command: Command) => T,
  ): Promise<LiveOptions<T>> {
    const { config } = read(command);
    if (config === undefined) return new LiveOptions(command, { ...read(command) }, {});
    const values = await readConfigFile(config);
    for (const [name, value] of configuredOptions(command, config, values)) {
      command.setOptionValueWithSource(name, value, 'config');
    }
    return new LiveOptions(command, { ...read(command) }, values);
  }

  /** What is in force, and who said so. */
  get settings(): readonly Setting[] {
    return settingsOf(this.#command, this.options);
  }

  /** Reads the file again. If it can't be used, that is logged, and nothing changes. */
  async reload(logger: Logger): Promise<void> {
    const { config: file } = this.options;
    if (file === undefined) return;
    try {
      const values = await readConfigFile(file);
      this.#take(configuredOptions(this.#command, file, values));
      const later = this.#changedFlags(values);
      this.#values = values;
      logger.info({ file }, 'configuration: read anew');
      if (later.length > 0)
        logger.warn({ file, flags: later }, 'these take effect at the next start');
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      logger.error({ file }, `configuration: what was before stays in force: ${error.message}`);
    }
  }

  #take(configured: ReadonlyMap<string, unknown>): void {
    for (const name of RELOADED) {
      const source = this.#command.getOptionValueSource(name);
      if (source === 'cli' || source === 'env') continue;
      const option = this.#command.options.find((each) => each.attributeName() === name);
      const isConfigured = configured.has(name);
      const value: unknown = isConfigured ? configured.get(name) : option?.defaultValue;
      Object.assign(this.options, { [name]: value });
      this.#command.setOptionValueWithSource(name, value, isConfigured ? 'config' : 'default');
    }
  }

  /** Flags that the file sets differently from before, and that do not take effect now. */
  #changedFlags(values: ConfigValues): string[] {
    const attributes = new Map(
      this.#command.options.map((option) => [
        option.long?.slice('--'.length),
        option.attributeName(),
      ]),
    );
    const names = new Set([...Object.keys(values), ...Object.keys(this.#values)]);
    const isReloaded = (name: string) => RELOADED.some((other) => other === attributes.get(name));
    return [...names].filter(
      (name) =>
        !isReloaded(name) && JSON.stringify(values[name]) !== JSON.stringify(this.#values[name]),
    );
  }
}

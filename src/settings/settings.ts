/** The options of a command: what is in force, and who said so. Some of a server's follow their file. */
import type { Logger } from 'pino';
import type { Setting, SettingSource } from '../server/status/settings.ts';
import { type CommandName, commandSpec, COMMANDS, type OptionOf } from './commands.ts';
import type { CommandSpec } from './command-spec.ts';
import { keysOf } from './flag-sets.ts';
import { defaultTextOf, isSwitch, keyOf, nameOf, variablesOf } from './flags/flag-spec.ts';
import { readGiven, readTexts } from './flags/flag-value.ts';
import { FLAGS, type OptionName, type Options, specOf } from './options.ts';
import { UserError } from '../user-error.ts';
import { UsageError } from './usage-error.ts';
import type { Arguments, GivenFlag } from './arguments.ts';
import { readVariables, unknownVariables } from './environment.ts';
import { changedKeys, type FileFlags, readFileFlags, withoutSecretTexts } from './file-flags.ts';

/** Settings that take effect while the server runs: keys, limits and the log level. */
const RELOADED: readonly OptionName[] = [
  'apiKey',
  'rateLimitRequests',
  'rateLimitTokens',
  'requestTimeout',
  'priorityRange',
  'logLevel',
];

interface Resolved {
  readonly value: unknown;
  readonly source: SettingSource;
}

/** Value that a flag was set to in one place, in the order of that place. */
export interface Occurrence {
  readonly option: OptionName;
  readonly value: unknown;
}

export class Settings<C extends CommandName> {
  /** Some of its fields change when the file is read again. */
  readonly options: Options<OptionOf<C>>;
  readonly operands: readonly string[];
  /** Notes to print before the command does anything. */
  readonly notes: readonly string[];
  readonly #command: C;
  #given: readonly GivenFlag[];
  #env: NodeJS.ProcessEnv;
  #file: FileFlags | null;
  #resolved: ReadonlyMap<OptionName, Resolved>;

  private constructor(
    command: C,
    { given, operands, notes }: Arguments,
    env: NodeJS.ProcessEnv,
    file: FileFlags | null,
  ) {
    this.#command = command;
    this.#given = given;
    this.#env = env;
    this.#file = file && withoutSecretTexts(file);
    this.#resolved = this.#resolve(file);
    // Secrets are kept only as their schema's result.
    this.#given = given.filter(({ option }) => specOf(option).secret === undefined);
    this.#env = withoutSecrets(env);
    const values = [...this.#resolved].map(([name, { value }]) => [name, value] as const);
    // Each value has gone through its flag's schema.
    this.options = Object.fromEntries(values) as Options<OptionOf<C>>;
    this.operands = operands;
    this.notes = [...notes, ...unknownVariables(env)];
  }

  /**
   * The command line wins over the environment, and both over the file of --config.
   * @throws UserError
   */
  static async open<C extends CommandName>(
    command: C,
    args: Arguments,
    env: NodeJS.ProcessEnv = process.env,
  ): Promise<Settings<C>> {
    const given = args.given.findLast(({ option }) => option === 'config')?.value;
    const path = given ?? readVariables(specOf('config'), env)?.value;
    const file = typeof path === 'string' ? await readFileFlags(command, path) : null;
    return new Settings(command, args, env, file);
  }

  /** Source of an option's value. */
  sourceOf(name: OptionOf<C>): SettingSource {
    return this.#resolved.get(name)?.source ?? 'default';
  }

  /**
   * Some options in the order in which they are given, each as often as it is: those of the command
   * line if one of them is there, otherwise those of the environment, otherwise those of the file.
   */
  inOrder(names: readonly OptionName[]): Occurrence[] {
    const isWanted = ({ option }: { readonly option: OptionName }) => names.includes(option);
    const typed = this.#given.filter(isWanted).map(({ option, flag, value }) => ({
      option,
      value:
        typeof value === 'boolean'
          ? value
          : readTexts(specOf(option), [value], { source: 'flag', flag }),
    }));
    if (typed.length > 0) return typed;
    const set = names.flatMap((option) => {
      const found = readVariables(specOf(option), this.#env);
      return found === null ? [] : [{ option, value: found.value }];
    });
    if (set.length > 0) return set;
    return [...(this.#file?.values.keys() ?? [])]
      .filter((option) => names.includes(option))
      .map((option) => ({ option, value: this.#resolved.get(option)?.value }));
  }

  /** For whoever operates the server. */
  list(): Setting[] {
    return commandSpec(this.#command).flags.map((name) => {
      const spec = specOf(name);
      return {
        flag: `--${nameOf(spec)}`,
        environment: variablesOf(spec)[0] ?? '',
        meaning: spec.description,
        source: this.#resolved.get(name)?.source ?? 'default',
        value: Object.entries(this.options).find(([each]) => each === name)?.[1],
        defaultText: defaultTextOf(spec),
        isSecret: spec.secret === 'whole',
      };
    });
  }

  /**
   * Reads the file again. If it is invalid, that is logged, and nothing changes.
   * @returns whether there is a file, and it was valid
   */
  async reload(logger: Logger): Promise<boolean> {
    const before = this.#file;
    if (before === null) return false;
    const { path } = before;
    try {
      const file = await readFileFlags(this.#command, path);
      const resolved = this.#resolve(file);
      this.#take(resolved);
      this.#file = withoutSecretTexts(file);
      logger.info({ file: path }, 'configuration reloaded');
      const later = changedKeys(before, this.#file, RELOADED);
      if (later.length > 0) {
        logger.warn({ file: path, flags: later }, 'these take effect at the next start');
      }
      return true;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      logger.error(
        { file: path },
        `the configuration file is invalid, the previous settings and API keys stay: ${error.message}`,
      );
      return false;
    }
  }

  #take(resolved: ReadonlyMap<OptionName, Resolved>): void {
    const now = new Map(this.#resolved);
    for (const name of RELOADED) {
      const found = resolved.get(name);
      const { source = 'default' } = now.get(name) ?? {};
      if (found === undefined || source === 'flag' || source === 'environment') continue;
      now.set(name, found);
      Object.assign(this.options, { [name]: found.value });
    }
    this.#resolved = now;
  }

  #resolve(file: FileFlags | null): ReadonlyMap<OptionName, Resolved> {
    const { flags, reads = [] }: CommandSpec = COMMANDS[this.#command];
    const names = new Set([...flags, ...reads]);
    return new Map([...names].map((name) => [name, this.#resolveOne(name, file)]));
  }

  #resolveOne(name: OptionName, file: FileFlags | null): Resolved {
    const spec = specOf(name);
    const given = this.#given.filter(({ option }) => option === name);
    const last = given.at(-1);
    if (last !== undefined) {
      const used = spec.list === undefined ? [last] : given;
      const texts = used.map(({ value }) => String(value));
      return {
        value: readGiven(spec, texts, { source: 'flag', flag: last.flag }),
        source: 'flag',
      };
    }
    const found = readVariables(spec, this.#env);
    if (found !== null) return { value: found.value, source: 'environment' };
    const inFile = file?.values.get(name);
    if (file && inFile !== undefined) {
      const place = { source: 'config file', file: file.path, key: inFile.key } as const;
      const value = readGiven(spec, inFile.texts, place);
      const isOff = isSwitch(spec) && inFile.key !== keyOf(spec);
      return { value: isOff ? value !== true : value, source: 'config file' };
    }
    if (spec.isRequired === true) {
      throw new UsageError(`${this.#command} needs ${spec.flags}: ${spec.description}`);
    }
    return { value: isSwitch(spec) ? (spec.default ?? false) : spec.default, source: 'default' };
  }
}

/** The variables of flags that are no secrets. */
function withoutSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const secret = new Set(
    keysOf(FLAGS)
      .map((name) => specOf(name))
      .flatMap((spec) => (spec.secret === undefined ? [] : variablesOf(spec))),
  );
  return Object.fromEntries(Object.entries(env).filter(([name]) => !secret.has(name)));
}

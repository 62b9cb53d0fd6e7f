/**
 * The flags of all commands (src/cli/flags) as options of commander's: each with its environment
 * variable, default, meaning and check. Names follow vLLM's where one exists.
 */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { z } from 'zod';
import { BATCH_FLAGS } from './flags/batch-flags.ts';
import { BATCHING_FLAGS } from './flags/batching-flags.ts';
import { CACHE_FLAGS } from './flags/cache-flags.ts';
import { ENGINE_FLAGS } from './flags/engine-flags.ts';
import type { FlagSpec } from './flags/flag-spec.ts';
import { HTTP_FLAGS } from './flags/http-flags.ts';
import { KV_EVENT_FLAGS } from './flags/kv-event-flags.ts';
import { MODEL_FLAGS } from './flags/model-flags.ts';
import { OPERATING_FLAGS } from './flags/operating-flags.ts';
import { REGISTRY_FLAGS } from './flags/registry-flags.ts';
import { REQUEST_FLAGS } from './flags/request-flags.ts';
import { UsageError } from './usage-error.ts';

const OPTIONS = {
  ...MODEL_FLAGS,
  ...ENGINE_FLAGS,
  ...REQUEST_FLAGS,
  ...HTTP_FLAGS,
  ...OPERATING_FLAGS,
  ...REGISTRY_FLAGS,
  ...BATCHING_FLAGS,
  ...KV_EVENT_FLAGS,
  ...BATCH_FLAGS,
  ...CACHE_FLAGS,
};

export type OptionName = keyof typeof OPTIONS;
/** Every option that commands can have. */
export const ALL_OPTIONS = Object.keys(OPTIONS) as readonly OptionName[];

export type Options<N extends OptionName = OptionName> = {
  readonly [K in N]: z.output<(typeof OPTIONS)[K]['schema']>;
};

/** Whether nobody should get to see its value. */
export function isSecretOption(name: OptionName): boolean {
  const spec: FlagSpec = OPTIONS[name];
  return spec.isSecret ?? false;
}

/** Adds flags to a command; each can also be set by `CHAIRLIFT_` and its name in capitals. */
export function addOptions(command: Command, names: readonly OptionName[]): Command {
  for (const name of names) {
    const spec: FlagSpec = OPTIONS[name];
    // Commander names no default for a flag that has no value by default.
    const isOpen = spec.default === undefined && spec.defaultText !== undefined;
    const description = isOpen
      ? `${spec.description} (default: ${spec.defaultText})`
      : spec.description;
    const option = new Option(spec.flags, description)
      .env(environmentName(spec.flags))
      .argParser((text, previous: unknown) => {
        const value = check(spec.schema, text);
        return spec.isRepeatable ? Object.assign({}, previous, value) : value;
      });
    if (spec.default !== undefined) option.default(spec.default, spec.defaultText);
    command.addOption(option);
  }
  return command;
}

/** The checked values of a command's flags: the flag, else the environment, else the default. */
export function readOptions<N extends OptionName>(command: Command): Options<N> {
  return command.opts();
}

/**
 * The checked values of flags that a file gives for one model.
 * @param flags by their names without dashes
 * @param allowed those that a model may have of its own
 * @throws UsageError naming the flag that is unknown, or has a bad value
 */
export function readFlags<N extends OptionName>(
  flags: Readonly<Record<string, string | number | boolean>>,
  allowed: readonly N[],
): Partial<Options<N>> {
  const names = new Map(allowed.map((name) => [flagOf(OPTIONS[name]), name]));
  const values = Object.entries(flags).map(([flag, value]) => {
    const name = names.get(flag);
    if (name === undefined) throw new UsageError(`--${flag} is no flag of a single model`);
    const isSwitch = !OPTIONS[name].flags.includes('<');
    const isOff = flag.startsWith('no-') === (value === true);
    const result = OPTIONS[name].schema.safeParse(isSwitch ? !isOff : String(value));
    if (result.success) return [name, result.data] as const;
    throw new UsageError(
      `--${flag} ${value}: ${result.error.issues.map(({ message }) => message).join('; ')}`,
    );
  });
  // Each value has gone through its flag's schema.
  return Object.fromEntries(values) as Partial<Options<N>>;
}

/** `max-num-seqs` of `--max-num-seqs <n>`. */
function flagOf({ flags }: FlagSpec): string {
  return flags.replace(/^--/, '').replace(/ .*$/, '');
}

function check(schema: z.ZodType, text: string): unknown {
  const result = schema.safeParse(text);
  if (result.success) return result.data;
  throw new InvalidArgumentError(
    `${result.error.issues.map(({ message }) => message).join('; ')}.`,
  );
}

/** `--max-num-seqs <n>` is CHAIRLIFT_MAX_NUM_SEQS. */
function environmentName(flags: string): string {
  const [flag = ''] = flags.split(' ');
  return flag.replace('--', 'CHAIRLIFT_').replaceAll('-', '_').toUpperCase();
}

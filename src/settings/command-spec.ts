import type { OptionName } from './options.ts';

/** A word of the command line that is no flag. */
export interface Operand {
  readonly name: string;
  readonly meaning: string;
  readonly isOptional?: boolean;
  readonly isRepeated?: boolean;
  /** The flag that it stands for. */
  readonly option?: OptionName;
  /** All that it can be; anything where it is left out. */
  readonly choices?: readonly string[];
}

export interface CommandSpec {
  readonly summary: string;
  readonly alias?: string;
  readonly operands: readonly Operand[];
  readonly flags: readonly OptionName[];
  /** Taken from the environment and the configuration file alone. */
  readonly reads?: readonly OptionName[];
  /** Keys of a configuration file that no command knows do not stop it. */
  readonly isLenient?: boolean;
  readonly examples?: readonly string[];
}

/** Specification of a flag; all code that reads, lists or completes flags uses it. */
import { z } from 'zod';

/** A flag of the command line, which the environment and a configuration file can set too. */
export interface FlagSpec {
  /** Such as `--port <number>`. One without a value is a switch: `--ui`, and `--no-ui` turns it off. */
  readonly flags: string;
  readonly description: string;
  /** Schema of its text, or of the texts of a list; a switch has none. */
  readonly schema?: z.ZodType;
  /** Value if nothing sets it. A switch without a default is off. */
  readonly default?: unknown;
  /** Text shown to people in place of the default's value. */
  readonly defaultText?: string;
  /** The letter of `-p`. */
  readonly short?: string;
  /** All its values count, and not the last one alone; `whole` ones are not split at commas. */
  readonly list?: 'commas' | 'whole';
  /** Words that follow its value on a command line are values too, as far as they look like this. */
  readonly words?: RegExp;
  /** Shown to no one, all of it or the password in an address, and not left in the environment. */
  readonly secret?: 'whole' | 'part';
  readonly isRequired?: boolean;
  /** Among the few that `--help` shows. */
  readonly isBasic?: boolean;
  /** Goes before its variable's name and its key in a file, where `serve` has another flag of this name. */
  readonly scope?: string;
  /** Further variables, as other tools call them; what makes no sense there is not ours. */
  readonly variables?: readonly string[];
}

/** How alike a flag must be to be meant: names of flags have words in common with many others. */
export const FLAG_LIKENESS = 0.5;

/** Type of a flag's value after it was read. */
export type ValueOf<S> = S extends { readonly schema: infer T extends z.ZodType }
  ? z.output<T>
  : boolean;

/** `max-num-seqs` of `--max-num-seqs <n>`. */
export function nameOf({ flags }: FlagSpec): string {
  return flags.replace(/^--/, '').replace(/ .*$/, '');
}

/** `<n>` of `--max-num-seqs <n>`; '' of a switch. */
export function placeholderOf({ flags }: FlagSpec): string {
  return /<.+>$/.exec(flags)?.[0] ?? '';
}

export function isSwitch({ schema }: FlagSpec): boolean {
  return schema === undefined;
}

/** Key of a flag in configuration files. */
export function keyOf(spec: FlagSpec): string {
  return spec.scope === undefined ? nameOf(spec) : `${spec.scope}-${nameOf(spec)}`;
}

/** The environment variables that set it, the strongest first: CHAIRLIFT_MAX_NUM_SEQS. */
export function variablesOf(spec: FlagSpec): readonly string[] {
  return [variableOf(keyOf(spec)), ...(spec.variables ?? [])];
}

/** The variable that turns a switch off. */
export function negativeVariableOf(spec: FlagSpec): string {
  return variableOf(`no-${keyOf(spec)}`);
}

/** All values that it can have; none where there are too many. */
export function choicesOf({ schema }: FlagSpec): readonly string[] {
  let inner: unknown = schema;
  while (
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodPipe ||
    inner instanceof z.ZodArray
  ) {
    if (inner instanceof z.ZodPipe) {
      inner = inner.in instanceof z.ZodTransform ? inner.out : inner.in;
    } else inner = inner instanceof z.ZodArray ? inner.element : inner.unwrap();
  }
  return inner instanceof z.ZodEnum ? inner.options.map(String) : [];
}

/** For people; null where there is nothing to say. */
export function defaultTextOf(spec: FlagSpec): string | null {
  if (spec.defaultText !== undefined) return spec.defaultText;
  if (isSwitch(spec)) return spec.default === true ? 'on' : 'off';
  if (spec.default === undefined) return null;
  return typeof spec.default === 'string' ? spec.default : JSON.stringify(spec.default);
}

function variableOf(key: string): string {
  return `CHAIRLIFT_${key.replaceAll('-', '_').toUpperCase()}`;
}

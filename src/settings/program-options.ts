import type { z } from 'zod';
import type { FLAGS, OptionName } from './options.ts';

/** Values that a program may give for a setting: those of its flag, and numbers as numbers. */
type ValueOf<S> = S extends { readonly schema: infer T extends z.ZodType }
  ? GivenFor<NonNullable<z.input<T>>, NonNullable<z.output<T>>>
  : boolean;

type GivenFor<Input, Output> = Input extends readonly (infer Item)[]
  ? readonly GivenFor<Item, Output extends readonly (infer O)[] ? O : unknown>[]
  : Output extends number
    ? Input | number
    : Input;

/** Settings by the names of their flags in camelCase, such as `maxModelLen` of `--max-model-len`. */
export type ProgramOptions<N extends OptionName> = {
  readonly [K in N]?: ValueOf<(typeof FLAGS)[K]> | undefined;
};

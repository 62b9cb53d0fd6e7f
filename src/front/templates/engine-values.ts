/** Values and nodes of the template engine, whose own types for them don't resolve. */
import * as jinja from '@huggingface/jinja';
import type { TemplateValue } from './python-text.ts';

/** As the engine has it. */
export interface Value extends TemplateValue {
  readonly builtins: ReadonlyMap<string, Value>;
}

/** Variables, as the engine has them. */
export interface Scope {
  /** @param value as JavaScript has it */
  set(name: string, value: unknown): Value;
  setVariable(name: string, value: Value): Value;
}

export const Environment = jinja.Environment as unknown as new () => Scope;

export const UNDEFINED = 'UndefinedValue';

export function valueOf(value: unknown): Value {
  return new Environment().set('value', value);
}

export const NOTHING = valueOf(undefined);

export function listOf(items: readonly Value[]): Value {
  const list = valueOf([]);
  (list.value as Value[]).push(...items);
  return list;
}

/** @param call takes values as the engine has them, and gives one */
export function functionOf(call: unknown): Value {
  return Object.assign(
    valueOf(() => null),
    { value: call },
  ) as Value;
}

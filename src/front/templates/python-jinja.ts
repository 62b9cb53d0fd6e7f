/**
 * Jinja as Transformers runs it. Templates are written against Python, and the engine here differs from it
 * in a few places, which are put right: how values are written, what undefined ones do, methods of texts.
 */
import * as jinja from '@huggingface/jinja';
import {
  Environment,
  functionOf,
  NOTHING,
  type Scope,
  UNDEFINED,
  type Value,
  valueOf,
} from './engine-values.ts';
import { strftime } from './python-dates.ts';
import { type FilterArguments, FILTERS } from './python-filters.ts';
import { pythonText, type TemplateValue } from './python-text.ts';
import { type TextMethod, TEXT_METHODS } from './python-text-methods.ts';

/** A node of the syntax tree, with the fields that are looked at. */
interface Node {
  type: string;
  value?: unknown;
  object?: Node;
  property?: Node;
  computed?: boolean;
  callee?: Node;
  args?: readonly Node[];
  key?: Node;
  operand?: Node;
  filter?: Node;
  test?: Node;
  negate?: boolean;
  iterable?: Node;
  lhs?: Node;
  left?: Node;
  right?: Node;
  operator?: { readonly value: string };
}

// The types that the package gives its interpreter don't resolve.
const Interpreter = jinja.Interpreter as unknown as new (variables: Scope) => {
  evaluate(node: Node | undefined, scope: Scope): Value;
  run(program: Node): Value;
};

const BLOCKS = ['body', 'alternate', 'defaultBlock'] as const;
/** Nodes that write no value, or write it themselves. */
const STATEMENTS: ReadonlySet<string> = new Set([
  ...['If', 'For', 'Break', 'Continue', 'Set', 'Macro', 'Comment', 'CallStatement'],
  ...['FilterStatement', 'StringLiteral'],
]);
/** Filters that find nothing in what is undefined. */
const OF_MANY: ReadonlySet<string> = new Set([
  ...['selectattr', 'rejectattr', 'select', 'reject', 'map', 'list', 'items', 'join', 'length'],
  ...['sort', 'reverse', 'unique'],
]);
/** Filters that take it for no text. */
const OF_TEXT: ReadonlySet<string> = new Set(['trim', 'lower', 'upper', 'title', 'capitalize']);
/** Filters that find nothing in None, too. */
const OF_NONE: ReadonlySet<string> = new Set([
  'selectattr',
  'rejectattr',
  'select',
  'reject',
  'map',
]);

export class PythonJinja {
  readonly #program: Node;

  /** @throws Error if it is no template */
  constructor(source: string) {
    this.#program = new jinja.Template(source).parsed as Node;
    markOutputs(this.#program);
  }

  /** @throws Error of the template, or why it can't be rendered */
  render(variables: Readonly<Record<string, unknown>>): string {
    const environment = new Environment();
    for (const [name, value] of LIBRARY) environment.setVariable(name, value);
    for (const [name, value] of Object.entries({ ...CONSTANTS, ...variables })) {
      environment.set(name, value);
    }
    return String(new PythonInterpreter(environment).run(this.#program).value);
  }
}

const CONSTANTS = { true: true, True: true, false: false, False: false, none: null, None: null };

/** The engine gives them to templates that it renders itself, and to nobody else. */
function libraryFunctions(): ReadonlyMap<string, Value> {
  const found = new Map<string, Value>();
  const take = (name: string, value: unknown): void => {
    found.set(name, functionOf(value));
  };
  const names = ['range', 'raise_exception'];
  new jinja.Template(names.map((name) => `{% set _ = take('${name}', ${name}) %}`).join('')).render(
    {
      take,
    },
  );
  const now = ([format]: readonly Value[]): Value =>
    valueOf(strftime(new Date(), format === undefined ? '' : pythonText(format)));
  return found.set('strftime_now', functionOf(now));
}

const LIBRARY = libraryFunctions();

/** Has every expression in a block written as Python would. */
function markOutputs(node: object): void {
  for (const name of BLOCKS) {
    const block: unknown = Object(node)[name];
    if (!Array.isArray(block)) continue;
    const marked = (block as Node[]).map((each) => {
      markOutputs(each);
      return STATEMENTS.has(each.type) ? each : { type: 'Output', operand: each };
    });
    Object.assign(node, { [name]: marked });
  }
}

class PythonInterpreter extends Interpreter {
  override evaluate(node: Node | undefined, scope: Scope): Value {
    if (node === undefined) return super.evaluate(node, scope);
    switch (node.type) {
      case 'Evaluated':
        return node.value as Value;
      case 'Output':
        return valueOf(pythonText(this.evaluate(node.operand, scope)));
      case 'ObjectLiteral':
        return this.#object(node.value as ReadonlyMap<Node, Node>, scope);
      case 'MemberExpression':
        return node.computed === true ? this.#item(node, scope) : super.evaluate(node, scope);
      case 'CallExpression':
        return this.#call(node, scope);
      case 'FilterExpression':
        return this.#filter(node, scope);
      case 'TestExpression': {
        const operand = this.evaluate(node.operand, scope);
        if (operand.type === UNDEFINED && node.test?.value === 'iterable') {
          return valueOf(node.negate !== true);
        }
        return super.evaluate({ ...node, operand: evaluated(operand) }, scope);
      }
      case 'For':
        return super.evaluate(this.#iterating(node, scope), scope);
      case 'BinaryExpression': {
        if (node.operator?.value !== '~') return super.evaluate(node, scope);
        const sides = [node.left, node.right].map((side) => this.evaluate(side, scope));
        return valueOf(sides.map(pythonText).join(''));
      }
      default:
        return super.evaluate(node, scope);
    }
  }

  /** Keys may be numbers. */
  #object(members: ReadonlyMap<Node, Node>, scope: Scope): Value {
    const object = valueOf({});
    for (const [key, value] of members) {
      const name = keyOf(this.evaluate(key, scope));
      (object.value as Map<unknown, Value>).set(name, this.evaluate(value, scope));
    }
    return object;
  }

  /** `object[key]`: what is no key of it is undefined. */
  #item(node: Node, scope: Scope): Value {
    if (node.property?.type === 'SliceExpression') return super.evaluate(node, scope);
    const object = this.evaluate(node.object, scope);
    const key = this.evaluate(node.property, scope);
    if (object.value instanceof Map && key.type !== 'StringValue') {
      return (object.value as Map<unknown, Value>).get(keyOf(key)) ?? valueOf(undefined);
    }
    const known = { ...node, object: evaluated(object), property: evaluated(key) };
    return super.evaluate(known, scope);
  }

  /** `object.name()`: a method comes before a key of this name. */
  #call(node: Node, scope: Scope): Value {
    const { callee } = node;
    if (callee?.type !== 'MemberExpression' || callee.computed === true) {
      return super.evaluate(node, scope);
    }
    const object = this.evaluate(callee.object, scope);
    const name = String(callee.property?.value);
    const method =
      methodOf(object, name) ?? this.evaluate({ ...callee, object: evaluated(object) }, scope);
    const known = { ...node, callee: evaluated(method) };
    return super.evaluate(known, scope);
  }

  #filter(node: Node, scope: Scope): Value {
    const operand = this.evaluate(node.operand, scope);
    const name = String((node.filter?.callee ?? node.filter)?.value);
    if (name === 'string') return valueOf(pythonText(operand));
    if (name === 'items' || name === 'dictsort') {
      const pairs = numberedPairs(operand, name === 'dictsort');
      if (pairs !== null) return pairs;
    }
    if ((name === 'min' || name === 'max') && Array.isArray(operand.value)) {
      return extreme(operand.value as Value[], name === 'min' ? -1 : 1);
    }
    const taken = filtered(operand, name);
    const own = FILTERS.get(name)?.(taken, this.#argumentsOf(node, scope));
    return own ?? super.evaluate({ ...node, operand: evaluated(taken) }, scope);
  }

  #argumentsOf({ filter }: Node, scope: Scope): FilterArguments {
    const given = filter?.args ?? [];
    const isNamed = ({ type }: Node) => type === 'KeywordArgumentExpression';
    const named = given
      .filter(isNamed)
      .map(({ key, value }) => [String(key?.value), this.evaluate(value as Node, scope)] as const);
    return {
      plain: given.filter((each) => !isNamed(each)).map((each) => this.evaluate(each, scope)),
      named: new Map(named),
      apply: (value, name, rest) => {
        const callee = { type: 'Identifier', value: name };
        const call = { type: 'CallExpression', callee, args: rest.map(evaluated) };
        const operand = evaluated(value);
        const filterNode = rest.length === 0 ? callee : call;
        return this.#filter({ type: 'FilterExpression', operand, filter: filterNode }, scope);
      },
    };
  }

  /** The loop, over nothing where that is undefined. */
  #iterating(node: Node, scope: Scope): Node {
    const { iterable } = node;
    const isFiltered = iterable?.type === 'SelectExpression';
    const value = this.evaluate(isFiltered ? iterable.lhs : iterable, scope);
    const known = evaluated(value.type === UNDEFINED ? valueOf([]) : value);
    return { ...node, iterable: isFiltered ? { ...iterable, lhs: known } : known };
  }
}

/** The first of the least or greatest. @param sign of what is wanted */
function extreme(values: readonly Value[], sign: 1 | -1): Value {
  const isBeyond = (one: Value, other: Value): boolean => {
    const [first, second] = [one.value as number, other.value as number];
    return sign === 1 ? first > second : first < second;
  };
  return values.reduce((best, each) => (isBeyond(each, best) ? each : best), values[0] ?? NOTHING);
}

/** Operand of a filter; filters of texts take an undefined value for an empty text. */
function filtered(operand: Value, name: string): Value {
  const isUndefined = operand.type === UNDEFINED;
  if (isUndefined && OF_TEXT.has(name)) return valueOf('');
  const isNone = operand.type === 'NullValue' && OF_NONE.has(name);
  if (isNone || (isUndefined && OF_MANY.has(name))) return valueOf(name === 'items' ? {} : []);
  return operand;
}

/** Keys and values of a mapping with numbers as keys; null for any other. */
function numberedPairs({ value }: Value, isSorted: boolean): Value | null {
  if (!(value instanceof Map)) return null;
  const pairs = [...(value as Map<unknown, Value>)].filter(
    (pair): pair is [number, Value] => typeof pair[0] === 'number',
  );
  if (pairs.length === 0 || pairs.length < value.size) return null;
  const list = valueOf([]);
  const sorted = isSorted ? pairs.toSorted(([first], [second]) => first - second) : pairs;
  (list.value as Value[]).push(...sorted.map(([key, item]) => pairOf(valueOf(key), item)));
  return list;
}

function pairOf(...both: Value[]): Value {
  const pair = valueOf([]);
  (pair.value as Value[]).push(...both);
  return pair;
}

function methodOf(object: Value, name: string): Value | undefined {
  if (object.type === 'ObjectValue') return object.builtins.get(name);
  const method = object.type === 'StringValue' ? TEXT_METHODS.get(name) : undefined;
  return method && functionOf(textFunction(String(object.value), method));
}

function textFunction(text: string, method: TextMethod): (args: readonly TemplateValue[]) => Value {
  return (args) => valueOf(method(text, args));
}

function keyOf(key: Value): unknown {
  return typeof key.value === 'number' ? key.value : pythonText(key);
}

function evaluated(value: Value): Node {
  return { type: 'Evaluated', value };
}

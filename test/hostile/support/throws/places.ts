/**
 * Places at which a module can be made to throw: after each await, and where each callback begins. Left out are
 * what gives something back (`once(() => ...)`, what comes finally), since nothing is left that could, and `return await`, since
 * whoever awaits what is returned is a place.
 */
import { parseAst } from 'vite';

export interface Place {
  /** Such as `server/http/listen.js:61 callback`. */
  readonly name: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

interface Insertion {
  readonly at: number;
  readonly text: string;
}

const IS_FUNCTION = /^(ArrowFunctionExpression|FunctionExpression|FunctionDeclaration)$/;

/**
 * @param file how it is called in names of places
 * @param begin the first place's number
 * @returns the module, with a call at each place that passes its number to `globalThis.pass`
 */
export function withPlaces(
  code: string,
  file: string,
  begin: number,
): { readonly code: string; readonly places: readonly Place[] } {
  const program = parseAst(code) as unknown as Node;
  const passed = namesPassed(program);
  const places: Place[] = [];
  const before: Insertion[] = [];
  const after: Insertion[] = [];
  const place = ({ start }: Node, kind: string): number => {
    const line = code.slice(0, start).split('\n').length;
    places.push({ name: `${file}:${line} ${kind}` });
    return begin + places.length - 1;
  };
  const enter = (body: Node, id: number): void => {
    if (body.type === 'BlockStatement') {
      const [first] = body['body'] as Node[];
      // Nothing is thrown before a `try`.
      const block = first?.type === 'TryStatement' ? (first['block'] as Node) : body;
      before.push({ at: block.start + 1, text: `pass$(${id});` });
    } else {
      before.push({ at: body.start, text: `(pass$(${id}), ` });
      after.push({ at: body.end, text: ')' });
    }
  };
  const placed = new Set<Node>();
  walk(program, null, (node, parent) => {
    const awaited = parent?.type === 'BlockStatement' ? awaitedBy(node) : null;
    if (awaited !== null) {
      placed.add(awaited);
      const next = following(node, parent);
      const text = `pass$(${place(awaited, 'await')});`;
      // Nothing is thrown before a `try`.
      if (next?.type === 'TryStatement')
        before.push({ at: (next['block'] as Node).start + 1, text });
      else after.push({ at: node.end, text });
    } else if (node.type === 'AwaitExpression' && !placed.has(node)) {
      if (parent?.type === 'ReturnStatement') return;
      before.push({ at: node.start, text: `pass$(${place(node, 'await')}, ` });
      after.push({ at: node.end, text: ')' });
    } else if (node.type === 'ForOfStatement' && node['await'] === true) {
      const body = node['body'] as Node;
      if (body.type === 'BlockStatement') enter(body, place(node, 'for await'));
    } else if (IS_FUNCTION.test(node.type) && isCallback(node, parent, passed)) {
      enter(node['body'] as Node, place(node, 'callback'));
    }
  });
  return { code: insert(code, before, after), places };
}

/**
 * Value that a statement awaits and keeps. Nothing is thrown in between: a throw comes after the statement.
 */
function awaitedBy(statement: Node): Node | null {
  const { type, expression, declarations } = statement;
  const [declared] = (declarations ?? []) as Node[];
  const whole = (type === 'VariableDeclaration' ? declared?.['init'] : expression) as Node | null;
  const value = whole?.type === 'AssignmentExpression' ? (whole['right'] as Node) : whole;
  return value?.type === 'AwaitExpression' ? value : null;
}

function following(statement: Node, block: Node | null): Node | undefined {
  const statements = (block?.['body'] ?? []) as Node[];
  return statements[statements.indexOf(statement) + 1];
}

/** Methods and functions of the module's top are callbacks where they are passed by their name. */
function isCallback(node: Node, parent: Node | null, passed: ReadonlySet<string>): boolean {
  if (parent?.type === 'MethodDefinition') return passed.has(nameOf(parent['key'] as Node));
  if (parent?.type === 'CallExpression' && givesBack(parent['callee'] as Node)) return false;
  if (node.type !== 'FunctionDeclaration') return true;
  const isAtTop = parent?.type === 'Program' || parent?.type === 'ExportNamedDeclaration';
  return !isAtTop || passed.has(nameOf(node['id'] as Node));
}

function givesBack(callee: Node): boolean {
  return nameOf(callee) === 'once' || nameOf((callee['property'] ?? callee) as Node) === 'finally';
}

function namesPassed(program: Node): Set<string> {
  const names = new Set<string>();
  walk(program, null, ({ type, arguments: values }) => {
    if (type !== 'CallExpression' && type !== 'NewExpression') return;
    for (const value of values as Node[]) {
      names.add(nameOf(value.type === 'MemberExpression' ? (value['property'] as Node) : value));
    }
  });
  return names;
}

function nameOf({ name }: Node): string {
  return typeof name === 'string' ? name : '';
}

function walk(
  node: Node,
  parent: Node | null,
  visit: (node: Node, parent: Node | null) => void,
): void {
  visit(node, parent);
  for (const [field, value] of Object.entries(node)) {
    if (field === 'finalizer') continue;
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) walk(child, node, visit);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

/** Outer nodes are visited first: what they open comes before what inner ones open, and closes after it. */
function insert(code: string, before: readonly Insertion[], after: readonly Insertion[]): string {
  const all = [...after.toReversed(), ...before].toSorted((a, b) => a.at - b.at);
  const pieces: string[] = [];
  let from = 0;
  for (const { at, text } of all) {
    pieces.push(code.slice(from, at), text);
    from = at;
  }
  pieces.push(code.slice(from));
  const shebang = /^#!.*\n/.exec(code)?.[0] ?? '';
  const head = 'const pass$ = globalThis.pass ?? ((_, value) => value);';
  return `${shebang}${head}${pieces.join('').slice(shebang.length)}`;
}

/**
 * LaTeX as MathML, which browsers draw by themselves. What the library makes is a tree, not HTML; of it
 * only known elements, attributes and styles become elements of the page.
 */
import { type ComponentChildren, createElement } from 'preact';
import temml from 'temml';

/** Node of the library's tree. */
interface MathNode {
  readonly type?: string;
  readonly text?: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly style?: Readonly<Record<string, unknown>>;
  readonly classes?: readonly string[];
  readonly children?: readonly MathNode[];
}

/** Its types name this differently than it does. */
const { __renderToMathMLTree: toTree } = temml as unknown as {
  readonly __renderToMathMLTree: (latex: string, options: object) => MathNode;
};

const ELEMENTS: ReadonlySet<string> = new Set([
  'math',
  'menclose',
  'mfrac',
  'mi',
  'mmultiscripts',
  'mn',
  'mo',
  'mover',
  'mpadded',
  'mphantom',
  'mprescripts',
  'mroot',
  'mrow',
  'ms',
  'mspace',
  'msqrt',
  'mstyle',
  'msub',
  'msubsup',
  'msup',
  'mtable',
  'mtd',
  'mtext',
  'mtr',
  'munder',
  'munderover',
  'none',
]);

const ATTRIBUTES: ReadonlySet<string> = new Set([
  'accent',
  'accentunder',
  'columnalign',
  'columnspan',
  'depth',
  'display',
  'displaystyle',
  'fence',
  'form',
  'height',
  'largeop',
  'linethickness',
  'lspace',
  'mathcolor',
  'mathsize',
  'mathvariant',
  'maxsize',
  'minsize',
  'movablelimits',
  'notation',
  'rowspacing',
  'rspace',
  'scriptlevel',
  'separator',
  'stretchy',
  'symmetric',
  'voffset',
  'width',
]);

/** None that takes a formula out of its place. */
const STYLES: ReadonlySet<string> = new Set([
  'border',
  'borderBottom',
  'borderLeft',
  'borderRight',
  'borderTop',
  'color',
  'fontWeight',
  'mathDepth',
  'padding',
  'paddingBottom',
  'paddingLeft',
  'paddingRight',
  'paddingTop',
  'textAlign',
  'whiteSpace',
]);

/** Only these have a look in the page's style sheet. */
const CLASSES = /^tml-(?:left|right|center|jot|small|overline|underline|fbox|hat-\d|tilde-\d|vec)$/;

/** So much of a browser's work a formula may be. */
const MAX_NODES = 3000;
const MAX_DEPTH = 60;

const OPTIONS = {
  throwOnError: true,
  trust: false,
  strict: false,
  maxSize: [20, 20] as [number, number],
  maxExpand: 200,
};

/** @returns null for what is no formula, or too large a one */
export function toMathml(latex: string, isBlock: boolean): ComponentChildren {
  try {
    // Settings keep macros that a formula defines: each has its own.
    const options = { ...OPTIONS, displayMode: isBlock, macros: {} };
    return toElement(toTree(latex, options), 0, { left: MAX_NODES });
  } catch {
    // A fault in the formula; or it was nested deeper than the library's recursion goes.
    return null;
  }
}

/** @throws Error for a tree that is too large */
function toElement(node: MathNode, depth: number, counted: { left: number }): ComponentChildren {
  const { type, text, children = [] } = node;
  if (--counted.left < 0 || depth > MAX_DEPTH) throw new Error('the formula is too large');
  if (type === undefined && typeof text === 'string') return text;
  const inner = () => children.map((child) => toElement(child, depth + 1, counted));
  // A fragment, or an element that the page does not know: what is in it.
  if (type === undefined || !ELEMENTS.has(type)) return type === 'annotation' ? null : inner();
  return createElement(type, propsOf(node), inner());
}

function propsOf({ attributes = {}, classes = [], style = {} }: MathNode) {
  const props: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (ATTRIBUTES.has(name)) props[name] = String(value);
  }
  const known = classes.filter((each) => CLASSES.test(each));
  if (known.length > 0) props['class'] = known.join(' ');
  const styles = Object.entries(style).filter(([name]) => STYLES.has(name));
  if (styles.length > 0) props['style'] = Object.fromEntries(styles);
  return props;
}

/**
 * Reads the XML of S3's answers: elements and their text. Strict, and without what makes XML dangerous:
 * declarations of types, entities of one's own and processing instructions are errors. A whole parser
 * would be ten times as large as all that these answers hold.
 */

/** An element; attributes are not kept. */
export interface XmlElement {
  readonly name: string;
  /** Its own, of the elements within it none. */
  text: string;
  readonly children: XmlElement[];
}

/** Not XML, or more of it than an answer has. */
export class XmlError extends Error {
  override readonly name = 'XmlError';
}

const MAX_DEPTH = 8;
const MAX_ELEMENTS = 50_000;
const MAX_TAG = 512;

const TAG = /^(?<end>\/?)(?<name>[A-Za-z_][\w.:-]*)(?<attributes>(?:\s[^<>]*)?)$/;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

/** @returns the outermost element @throws {XmlError} */
export function parseXml(source: string): XmlElement {
  const root: XmlElement = { name: '', text: '', children: [] };
  const open: XmlElement[] = [root];
  let elements = 0;
  let at = /^\uFEFF?\s*(?:<\?xml [^<>]{0,200}\?>)?/.exec(source)?.[0].length ?? 0;
  for (;;) {
    const current = open.at(-1) ?? root;
    const start = source.indexOf('<', at);
    current.text += unescaped(source.slice(at, start === -1 ? undefined : start));
    if (start === -1) break;
    const end = source.indexOf('>', start);
    if (end === -1 || end - start > MAX_TAG) throw new XmlError('a tag has no end');
    at = end + 1;
    const { name, isEnd, isEmpty } = tagOf(source.slice(start + 1, end));
    if (isEnd) {
      if (open.length === 1 || current.name !== name)
        throw new XmlError('a tag ends that is not open');
      open.pop();
      continue;
    }
    elements++;
    if (elements > MAX_ELEMENTS || open.length > MAX_DEPTH) throw new XmlError('it has too much');
    const element: XmlElement = { name, text: '', children: [] };
    current.children.push(element);
    if (!isEmpty) open.push(element);
  }
  const [top, ...others] = root.children;
  if (open.length > 1 || top === undefined || others.length > 0 || root.text.trim() !== '') {
    throw new XmlError('it is not one element');
  }
  return top;
}

/** Text of the first child of a name; null without one. */
export function textOf({ children }: XmlElement, name: string): string | null {
  return children.find((child) => child.name === name)?.text ?? null;
}

function tagOf(tag: string): { name: string; isEnd: boolean; isEmpty: boolean } {
  const isEmpty = tag.endsWith('/');
  const { name, end, attributes = '' } = TAG.exec(isEmpty ? tag.slice(0, -1) : tag)?.groups ?? {};
  const isEnd = end === '/';
  if (name === undefined || (isEnd && (isEmpty || attributes.trim() !== ''))) {
    throw new XmlError('it has a tag that is none of an answer');
  }
  return { name, isEnd, isEmpty };
}

function unescaped(text: string): string {
  return text.replace(
    /&(?:#(?:x([0-9a-f]{1,6})|(\d{1,7}))|(\w{1,8}));|&/gi,
    (_, hex, decimal, name) => {
      const code = hex ? Number.parseInt(String(hex), 16) : Number(decimal ?? Number.NaN);
      if (Number.isInteger(code) && code <= 0x10_ffff) return String.fromCodePoint(code);
      const character = ENTITIES[String(name)];
      if (character === undefined) throw new XmlError('it has an entity that is not known');
      return character;
    },
  );
}

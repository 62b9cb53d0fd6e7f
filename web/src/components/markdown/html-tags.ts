/** The few elements of HTML that models write into Markdown. All other markup is shown as it is written. */
import type { Token } from 'marked';

/** Names that are taken as they are, without attributes. */
export const KNOWN_TAGS = [
  'b',
  'code',
  'del',
  'em',
  'i',
  'ins',
  'kbd',
  'mark',
  's',
  'small',
  'strong',
  'sub',
  'sup',
  'u',
  'var',
] as const;
export type KnownTag = (typeof KNOWN_TAGS)[number];

/** Tokens of a line, with what stands between a tag and its end put together. */
export type Nested =
  | { readonly kind: 'token'; readonly token: Token }
  | { readonly kind: 'break' }
  | { readonly kind: 'element'; readonly tag: KnownTag; readonly children: readonly Nested[] };

/** Elements within elements. */
const MAX_DEPTH = 8;

export function nested(tokens: readonly Token[], depth = 0): Nested[] {
  const found: Nested[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token === undefined) break;
    if (token.type === 'html' && /^<br\s*\/?>\s*$/i.test(token.raw)) {
      found.push({ kind: 'break' });
      continue;
    }
    const tag = depth < MAX_DEPTH ? openedBy(token) : null;
    const end = tag === null ? -1 : endOf(tag, tokens, at + 1);
    if (tag === null || end < 0) {
      found.push({ kind: 'token', token });
      continue;
    }
    const children = nested(tokens.slice(at + 1, end), depth + 1);
    found.push({ kind: 'element', tag, children });
    at = end;
  }
  return found;
}

function openedBy(token: Token): KnownTag | null {
  if (token.type !== 'html') return null;
  const name = /^<([a-z]+)>$/i.exec(token.raw)?.[1]?.toLowerCase();
  return KNOWN_TAGS.find((tag) => tag === name) ?? null;
}

/** Tokens that are looked at for the end of an element. */
const MAX_TOKENS = 200;

function endOf(tag: KnownTag, tokens: readonly Token[], from: number): number {
  const wanted = `</${tag}>`;
  const near = tokens.slice(from, from + MAX_TOKENS);
  const at = near.findIndex(({ type, raw }) => type === 'html' && raw.toLowerCase() === wanted);
  return at < 0 ? -1 : from + at;
}

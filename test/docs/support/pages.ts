import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { lexer, type Token } from 'marked';

/** The pages that users read, from the repository's root. */
export const PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  'examples/README.md',
  'models/README.md',
];

/** Pages about parts of the sources, next to them. */
export const INNER_PAGES: readonly string[] = [
  'native/README.md',
  'test/README.md',
  ...readdirSync('src')
    .map((folder) => `src/${folder}/README.md`)
    .filter((page) => existsSync(page)),
];

/** A fenced or indented block of code. */
export interface Block {
  readonly page: string;
  /** Number of its first line, or of the list around it. */
  readonly line: number;
  /** Word behind the fence. */
  readonly language: string;
  readonly text: string;
  /** Content of the HTML comment directly before it. */
  readonly comment: string | null;
}

export function readPage(page: string): string {
  return readFileSync(page, 'utf8');
}

export function blocksOf(page: string, text = readPage(page)): Block[] {
  const blocks: Block[] = [];
  let line = 1;
  let before: string | null = null;
  for (const token of lexer(text)) {
    for (const { language, code, comment } of codeIn([token], before)) {
      blocks.push({ page, line, language, text: code, comment });
    }
    before = commentOf(token);
    line += token.raw.split('\n').length - 1;
  }
  return blocks;
}

/** Commands and paths in running text. */
export function inlineCode(text: string): string[] {
  return Array.from(tokensOf(text, 'codespan'), (token) => token.text);
}

/** Targets of links and pictures. */
export function linksOf(text: string): string[] {
  const tokens = [...tokensOf(text, 'link'), ...tokensOf(text, 'image')];
  return tokens.map((token) => token.href);
}

/** Ends of links to headings, as GitHub makes them. */
export function anchorsOf(text: string): string[] {
  const seen = new Map<string, number>();
  return Array.from(tokensOf(text, 'heading'), (heading) => {
    const words = heading.text.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '');
    const anchor = words.replaceAll(/\s/g, '-');
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}

function* codeIn(
  tokens: readonly Token[],
  before: string | null = null,
): Generator<{ language: string; code: string; comment: string | null }> {
  let comment = before;
  for (const token of tokens) {
    if (token.type === 'code') yield { language: token.lang ?? '', code: token.text, comment };
    yield* codeIn(childrenOf(token));
    comment = commentOf(token);
  }
}

function tokensOf<Type extends Token['type']>(text: string, type: Type) {
  const isWanted = (token: Token): token is Extract<Token, { type: Type }> => token.type === type;
  const all = (tokens: readonly Token[]): Token[] =>
    tokens.flatMap((token) => [token, ...all(childrenOf(token))]);
  return all(lexer(text)).filter(isWanted);
}

function childrenOf(token: Token): Token[] {
  if (token.type === 'list') return token.items;
  if (token.type === 'table') {
    const cells = [token.header, ...token.rows].flat();
    return cells.flatMap((cell: { tokens: Token[] }) => cell.tokens);
  }
  return 'tokens' in token ? (token.tokens ?? []) : [];
}

function commentOf(token: Token | undefined): string | null {
  if (token?.type !== 'html') return null;
  return /^<!--\s*(?<content>[^]*?)\s*-->\s*$/.exec(token.raw)?.groups?.['content'] ?? null;
}

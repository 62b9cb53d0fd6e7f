/**
 * Markdown as elements. It never becomes HTML: of what looks like HTML a few elements without attributes
 * are known, and all else is shown as it is written, so there is nothing to sanitize.
 */
import { Marked, type MarkedToken, type Token, type Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { CodeBlock } from '../code-block.tsx';
import { withCharacters } from './character-names.ts';
import { headingLevels } from './headings.ts';
import { type Nested, nested } from './html-tags.ts';
import './markdown.css';
import { Formula } from './math.tsx';
import { mathSyntax, type MathToken } from './math-syntax.ts';

const marked = new Marked(mathSyntax);

type AnyToken = MarkedToken | MathToken;

export function Markdown({ text }: { readonly text: string }) {
  const tokens = useMemo(() => marked.lexer(text), [text]);
  const levels = headingLevels(tokens);
  return (
    <div class="markdown">
      {tokens.map((token, index) => (
        <Block key={index} token={token as AnyToken} level={levels.get(index) ?? 2} />
      ))}
    </div>
  );
}

function blocks(tokens: readonly Token[]): ComponentChildren[] {
  return tokens.map((token, index) => <Block key={index} token={token as AnyToken} level={6} />);
}

interface BlockProps {
  readonly token: AnyToken;
  /** If it is a heading. */
  readonly level: number;
}

function Block({ token, level }: BlockProps) {
  switch (token.type) {
    case 'math':
      return <Formula token={token} />;
    case 'heading': {
      const Heading = `h${level}` as 'h2';
      return <Heading class={`depth-${token.depth}`}>{inline(token.tokens)}</Heading>;
    }
    case 'paragraph':
      return <p>{inline(token.tokens)}</p>;
    case 'html':
      // A line that begins with a tag is a block to Markdown, whatever follows in it.
      return <p>{inline(marked.Lexer.lexInline(token.raw.trim(), marked.defaults))}</p>;
    case 'code':
      return <CodeBlock code={token.text} language={token.lang ?? ''} />;
    case 'blockquote':
      return <blockquote>{blocks(token.tokens)}</blockquote>;
    case 'list':
      return <List list={token} />;
    case 'table':
      return <Table table={token} />;
    case 'hr':
      return <hr />;
    case 'space':
    case 'def':
      return null;
    case 'br':
    case 'checkbox':
    case 'codespan':
    case 'del':
    case 'em':
    case 'escape':
    case 'image':
    case 'link':
    case 'list_item':
    case 'strong':
    case 'text':
      return <Inline token={token} />;
  }
}

function List({ list }: { readonly list: Tokens.List }) {
  const items = list.items.map((item, index) => (
    <li key={index} class={item.task ? 'task' : undefined}>
      {blocks(item.tokens)}
    </li>
  ));
  if (!list.ordered) return <ul>{items}</ul>;
  return <ol start={list.start === '' ? 1 : list.start}>{items}</ol>;
}

function Table({ table }: { readonly table: Tokens.Table }) {
  return (
    <div class="markdown-table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {table.header.map(({ tokens, align }, index) => (
              <th key={index} class={align ?? undefined}>
                {inline(tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map(({ tokens, align }, column) => (
                <td key={column} class={align ?? undefined}>
                  {inline(tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[]): ComponentChildren[] {
  return nested(tokens).map(toElement);
}

function toElement(part: Nested, index: number): ComponentChildren {
  switch (part.kind) {
    case 'break':
      return <br key={index} />;
    case 'element': {
      const Tag = part.tag;
      return <Tag key={index}>{part.children.map(toElement)}</Tag>;
    }
    case 'token':
      return <Inline key={index} token={part.token as AnyToken} />;
  }
}

function Inline({ token }: { readonly token: AnyToken }) {
  switch (token.type) {
    case 'math':
      return <Formula token={token} />;
    case 'strong':
      return <strong>{inline(token.tokens)}</strong>;
    case 'em':
      return <em>{inline(token.tokens)}</em>;
    case 'del':
      return <del>{inline(token.tokens)}</del>;
    case 'codespan':
      return <code>{token.text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return <SafeLink href={token.href}>{inline(token.tokens)}</SafeLink>;
    case 'image':
      // Loading it would tell its server that somebody reads this.
      return <SafeLink href={token.href}>{token.text || 'picture'}</SafeLink>;
    case 'text':
      return <>{token.tokens === undefined ? withCharacters(token.text) : inline(token.tokens)}</>;
    case 'escape':
      return <>{token.text}</>;
    case 'checkbox':
      return <input type="checkbox" checked={token.checked} disabled aria-label="Task" />;
    // Tokens that are written as HTML, or stand in no line.
    case 'html':
    case 'blockquote':
    case 'code':
    case 'def':
    case 'heading':
    case 'hr':
    case 'list':
    case 'list_item':
    case 'paragraph':
    case 'space':
    case 'table':
      return <>{token.raw}</>;
  }
}

interface SafeLinkProps {
  readonly href: string;
  readonly children: ComponentChildren;
}

/** A link only where it is to be followed: no `javascript:`, no `data:`. */
function SafeLink({ href, children }: SafeLinkProps) {
  if (!/^(https?:|mailto:)/i.test(href)) return <>{children}</>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
      {children}
    </a>
  );
}

import { escapeHtml } from './escape.ts';
import { STYLE } from './style.ts';

/**
 * One document that needs nothing else: no script, no font, no network. Well-formed XML after the
 * doctype, so that it can be checked.
 * @param facts what was measured, in a line
 * @param body HTML
 */
export function htmlDocument(title: string, facts: string, body: readonly string[]): string {
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"/>',
    '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>`,
    `<h1>${escapeHtml(title)}</h1>`,
    `<p class="facts">${escapeHtml(facts)}</p>`,
    ...body,
    '</body></html>\n',
  ].join('\n');
}

/** Nothing where there are no parts. */
export function section(title: string, className: string, parts: readonly string[]): string {
  if (parts.length === 0) return '';
  const body = `<div class="${className}">${parts.join('\n')}</div>`;
  return `<section><h2>${escapeHtml(title)}</h2>${body}</section>`;
}

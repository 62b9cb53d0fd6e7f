import { escapeHtml } from '../src/bench/html/escape.ts';

/** A line of text in an SVG. @param attributes as they stand in the element */
export function svgText(x: number, baseline: number, content: string, attributes = ''): string {
  const rest = attributes === '' ? '' : ` ${attributes}`;
  return `<text x="${x.toFixed(1)}" y="${Number(baseline.toFixed(1))}"${rest}>${escapeHtml(content)}</text>`;
}

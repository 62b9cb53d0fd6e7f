/** Methods of Python's texts that the template engine lacks, or takes no arguments of. */
import { pythonText, type TemplateValue } from './python-text.ts';

export type TextMethod = (text: string, args: readonly TemplateValue[]) => unknown;

export const TEXT_METHODS: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  [
    'strip',
    (text, [characters]) => stripped(stripped(text, characters, 'start'), characters, 'end'),
  ],
  ['lstrip', (text, [characters]) => stripped(text, characters, 'start')],
  ['rstrip', (text, [characters]) => stripped(text, characters, 'end')],
  ['format', formatted],
  ['join', (text, [items]) => listed(items).map(pythonText).join(text)],
  ['splitlines', linesOf],
  ['partition', (text, [at]) => partsAt(text, textOf(at), text.indexOf(textOf(at)))],
  ['find', (text, [part]) => placeOf(text, text.indexOf(textOf(part)))],
  ['rfind', (text, [part]) => placeOf(text, text.lastIndexOf(textOf(part)))],
  ['count', (text, [part]) => text.split(textOf(part)).length - 1],
  ['capitalize', (text) => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase()],
  ['isdigit', (text) => /^\p{Nd}+$/u.test(text)],
  ['isalpha', (text) => /^\p{L}+$/u.test(text)],
  ['isalnum', (text) => /^[\p{L}\p{N}]+$/u.test(text)],
  ['isspace', (text) => /^\s+$/u.test(text)],
  ['removeprefix', (text, [start]) => withoutStart(text, textOf(start))],
  ['removesuffix', (text, [end]) => withoutEnd(text, textOf(end))],
]);

function textOf(value: TemplateValue | undefined): string {
  return value === undefined ? '' : pythonText(value);
}

function listed(items: TemplateValue | undefined): readonly TemplateValue[] {
  return Array.isArray(items?.value) ? (items.value as TemplateValue[]) : [];
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|[\n\r\v\f\x85\u2028\u2029]/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** Texts before a place, there, and after it. */
function partsAt(text: string, part: string, at: number): string[] {
  return at === -1 ? [text, '', ''] : [text.slice(0, at), part, text.slice(at + part.length)];
}

/** In characters, as Python counts. */
function placeOf(text: string, at: number): number {
  return at === -1 ? -1 : Array.from(text.slice(0, at)).length;
}

/** @param characters that may go; white space if there is none */
function stripped(
  text: string,
  characters: TemplateValue | undefined,
  side: 'start' | 'end',
): string {
  if (characters === undefined || characters.type === 'NullValue') {
    return side === 'start' ? text.trimStart() : text.trimEnd();
  }
  const set = new Set(Array.from(pythonText(characters)));
  const all = Array.from(text);
  if (side === 'start') {
    const first = all.findIndex((character) => !set.has(character));
    return first === -1 ? '' : all.slice(first).join('');
  }
  return all.slice(0, all.findLastIndex((character) => !set.has(character)) + 1).join('');
}

/** With `{}` and `{0}` alone. */
function formatted(text: string, args: readonly TemplateValue[]): string {
  let next = 0;
  return text.replaceAll(/\{\{|\}\}|\{(\d*)\}/g, (field, number?: string) => {
    if (number === undefined) return field[0] ?? '';
    return textOf(args[number === '' ? next++ : Number(number)]);
  });
}

function withoutStart(text: string, start: string): string {
  return text.startsWith(start) ? text.slice(start.length) : text;
}

function withoutEnd(text: string, end: string): string {
  return end !== '' && text.endsWith(end) ? text.slice(0, -end.length) : text;
}

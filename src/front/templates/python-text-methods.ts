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
  ['removeprefix', (text, [start]) => withoutStart(text, textOf(start))],
  ['removesuffix', (text, [end]) => withoutEnd(text, textOf(end))],
]);

function textOf(value: TemplateValue | undefined): string {
  return value === undefined ? '' : pythonText(value);
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

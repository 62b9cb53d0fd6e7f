/** The table of error codes in docs/api.md has every code that the server can answer with, and no other. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readPage } from './support/pages.ts';

const FOLDERS = ['src/server', 'src/front', 'src/grpc'];
/** Makers of errors, with the code as their last argument. */
const MAKER = /\b(?:badRequest|unavailable|InvalidRequestError|ModelUnavailableError)\(/g;
const LAST_WORDS = /'(\w+)'(?: : '(\w+)')?,?\s*$/;
/** Fields, which are the last argument where there is no code, and codes of zod's issues. */
const NOT_ANSWERED = new Set(['base_model_name', 'custom', 'lora_name', 'tool_choice']);

function sources(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );
}

/** Text between a parenthesis and the one that closes it. */
function enclosed(text: string, start: number): string {
  let depth = 1;
  let end = start;
  while (depth > 0 && end < text.length) {
    if (text[end] === '(') depth++;
    if (text[end] === ')') depth--;
    end++;
  }
  return text.slice(start, end - 1);
}

function codesIn(text: string): (string | undefined)[] {
  const made = [...text.matchAll(MAKER)].flatMap((maker) => {
    const words = enclosed(text, maker.index + maker[0].length);
    // Two arguments, a message and a field, come without a code.
    return (LAST_WORDS.exec(words) ?? []).slice(1).filter((code) => code?.includes('_'));
  });
  return [...made, ...Array.from(text.matchAll(/\bcode(?::| =) '(\w+)'/g), ([, code]) => code)];
}

it('docs/api.md has all error codes', () => {
  const used = sources().flatMap((path) => codesIn(readFileSync(path, 'utf8')));
  const [, section = ''] = readPage('docs/api.md').split('\n## Errors\n');
  const [table = ''] = section.split('\n## ');
  const documented = table
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) =>
      Array.from((line.split('|')[1] ?? '').matchAll(/`(\w+)`/g), ([, code]) => code),
    );
  const codes = used.filter((code) => code !== undefined && !NOT_ANSWERED.has(code));
  expect(new Set(documented)).toEqual(new Set(codes));
});

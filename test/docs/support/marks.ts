import { spawnSync } from 'node:child_process';
import type { Requirement } from '../../support/needs.ts';
import type { Block } from './pages.ts';

/**
 * How a block is checked, as the comment before it says:
 *
 *   run: WHERE[; serves][; server][; needs PROGRAM][; prints TEXT]
 *   flags only: REASON
 *   not run: REASON
 *   is: FORMAT
 */
export type Mark =
  | {
      readonly kind: 'run';
      readonly where: Place;
      /** Its commands that do not end are servers: each is ended once it is ready. */
      readonly serves: boolean;
      /** It is typed while the server of the block before runs; without such a block, `npm start`'s. */
      readonly server: boolean;
      /** Without it, the block is skipped. */
      readonly needs: Requirement | null;
      /** Part of its output. */
      readonly prints: string | null;
    }
  /** Scripts and flags are looked for, and no more, because of what the reason says. */
  | { readonly kind: 'flags only'; readonly reason: string }
  | { readonly kind: 'not run'; readonly reason: string }
  /** A file or an answer, in a format that a reader is there for. */
  | { readonly kind: 'is'; readonly format: string };

/** A new empty folder; the repository's clone; a project in which the package is installed. */
export const PLACES = ['folder', 'clone', 'package'] as const;
export type Place = (typeof PLACES)[number];

const REQUIREMENTS: Readonly<Record<string, Requirement>> = {
  python3: {
    name: 'python3 (Debian: python3-venv)',
    isThere: spawnSync('python3', ['-c', 'import ensurepip']).status === 0,
  },
};

export const isShell = ({ language }: Block): boolean => /^(sh|bash|shell|console)$/.test(language);

/** @throws Error that names the block if it has no mark, or none that is right */
export function markOf({ page, line, comment }: Block): Mark {
  const fail = (problem: string) => new Error(`${page}:${line}: ${problem}`);
  if (comment === null) throw fail('there is no comment that says how this block is checked');
  const [, kind, rest = ''] = /^(run|flags only|not run|is): (.+)$/.exec(comment) ?? [];
  if (kind === 'flags only' || kind === 'not run') return { kind, reason: rest };
  if (kind === 'is') return { kind, format: rest };
  if (kind !== 'run') {
    throw fail(`"${comment}" does not begin with run:, flags only:, not run: or is:`);
  }
  const [first, ...options] = rest.split('; ');
  const where = PLACES.find((place) => place === first);
  if (where === undefined) throw fail(`"${first}" is none of ${PLACES.join(', ')}`);
  const prints = options.find((option) => option.startsWith('prints '));
  const needed = options.find((option) => option.startsWith('needs '));
  const needs = REQUIREMENTS[needed?.slice('needs '.length) ?? ''] ?? null;
  const known = new Set(['serves', 'server', prints, needs === null ? undefined : needed]);
  const unknown = options.find((option) => !known.has(option));
  if (unknown !== undefined) throw fail(`"${unknown}" is no option of run`);
  return {
    kind,
    where,
    serves: options.includes('serves'),
    server: options.includes('server'),
    needs,
    prints: prints?.slice('prints '.length) ?? null,
  };
}

/** Commands of a block, each with all of its lines. */
export function commandsOf(text: string): string[] {
  const commands: string[] = [];
  let open = '';
  for (const line of text.split('\n')) {
    open += open === '' ? line : `\n${line}`;
    if (/^\s*(#|$)/.test(open)) open = '';
    else if (isWhole(open)) {
      commands.push(open);
      open = '';
    }
  }
  if (open !== '') throw new Error(`bash reads no whole command in ${open}`);
  return commands;
}

function isWhole(text: string): boolean {
  if (text.endsWith('\\')) return false;
  const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' });
  // An open here-document is a warning alone.
  return status === 0 && stderr === '';
}

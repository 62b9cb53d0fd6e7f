/** Links, paths and names in the documentation lead somewhere. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { anchorsOf, inlineCode, INNER_PAGES, linksOf, PAGES, readPage } from './support/pages.ts';

const FILE = /^[\w@.-]+(\/[\w@.-]+)*\.(ts|tsx|mjs|py|md|yaml|cfg|service|cpp|h|c|sh)$/;
/** Files of users and of other programs. */
const NOT_OURS = new Set(['chairlift.yaml', 'rules.yaml', 'state.json', 'config.pbtxt']);

const scripts = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync('package.json', 'utf8'))).scripts;

const sources = ['src', 'web', 'scripts', 'test', 'native', 'deploy', 'docs', 'examples', 'models'];
const files = sources.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
);

/** Folders of the repository and of the sources, which a path begins with. */
const folders = ['.', 'src'].flatMap((parent) =>
  readdirSync(parent, { withFileTypes: true })
    // Commands that the documentation names make what lies there.
    .filter((entry) => entry.isDirectory() && entry.name !== '.cache')
    .map((entry) => entry.name),
);

function isPath(code: string): boolean {
  const [first = ''] = code.split('/');
  return FILE.test(code) || (/^[\w./-]+\/[\w./-]*$/.test(code) && folders.includes(first));
}

/** A page may leave out the folders that it is about. */
function isThere(path: string): boolean {
  const named = path.replace(/\/$/, '');
  return existsSync(named) || files.some((file) => file.endsWith(`/${named}`));
}

const otherPages = files.filter((path) => path.endsWith('.md') && !PAGES.includes(path));

describe.each([...PAGES, 'CHANGELOG.md', ...otherPages])('%s', (page) => {
  const text = readPage(page);

  it('has links that lead somewhere', () => {
    const broken = linksOf(text)
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? page : normalize(join(dirname(page), path));
        if (!existsSync(target)) return true;
        return anchor !== undefined && !anchorsOf(readPage(target)).includes(anchor);
      });
    expect(broken).toEqual([]);
  });
});

describe.each([...PAGES, ...INNER_PAGES])('%s', (page) => {
  const code = inlineCode(readPage(page));

  it('names files and folders that there are', () => {
    const missing = code.filter((span) => isPath(span) && !NOT_OURS.has(span) && !isThere(span));
    expect(missing).toEqual([]);
  });

  it('installs Chairlift from a file: the name on the registry is not ours', () => {
    const words =
      /\bnpm (?:i|install|add|create|exec) (?:-\S+ )*(?:@?chairlift\b(?!-\d)|chairlift@)/g;
    expect(readPage(page).match(words)).toBeNull();
  });

  it('names scripts that there are', () => {
    const named = Array.from(
      readPage(page).matchAll(/npm run (?:-s )?([\w:-]+)/g),
      ([, name]) => name,
    );
    expect(named.filter((name) => name === undefined || !(name in scripts))).toEqual([]);
  });
});

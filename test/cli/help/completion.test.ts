/** Completion, by the shells themselves. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completionScript } from '../../../src/cli/help/completion.ts';
import { needs, program } from '../../support/needs.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chairlift completion-'));
  await Promise.all(
    ['bash', 'zsh', 'fish'].map((shell) =>
      writeFile(join(folder, `chairlift.${shell}`), completionScript(shell)),
    ),
  );
  await writeFile(join(folder, 'keys of mine'), '');
});
afterAll(async () => rm(folder, { recursive: true }));

/** Words that Bash offers after words, the last of which is being typed. */
function inBash(...words: string[]): string[] {
  const script = `
    source "$1"; shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _chairlift
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync(
    'bash',
    ['--norc', '-c', script, 'bash', join(folder, 'chairlift.bash'), 'chairlift', ...words],
    { encoding: 'utf8', cwd: folder },
  );
  return output.split('\n').filter((line) => line !== '');
}

describe('bash completes', needs(program('bash')), () => {
  it.each([
    [['se'], ['serve']],
    [['c'], ['chat', 'completion']],
    [['serve', '--max-m'], ['--max-model-len']],
    [['serve', '--no-u'], ['--no-ui']],
    [
      ['serve', '--precision', 'int'],
      ['int8', 'int8-blocks', 'int8-static', 'int4-mixed', 'int4'],
    ],
    // Bash makes three words of --precision=int.
    [
      ['serve', '--precision', '=', 'fp'],
      ['fp32', 'fp16'],
    ],
    [['serve', '--port', ''], []],
    [['serve', '--api-key-file', 'ke'], ['keys of mine']],
    [['serve', 'ke'], ['keys of mine']],
    [
      ['chat', '--top-'],
      ['--top-p', '--top-k'],
    ],
    [['completion', 'b'], ['bash']],
    [['ps', '--max'], []],
    [['unknown', '--'], []],
  ])('%j', (words, offered) => {
    expect(inBash(...words).toSorted()).toEqual(offered.toSorted());
  });
});

describe('fish completes', needs(program('fish')), () => {
  it.each([
    ['se', ['serve']],
    ['serve --max-m', ['--max-model-len']],
    ['serve --precision fp', ['fp16', 'fp32']],
    ['completion ', ['bash', 'fish', 'zsh']],
  ])('%j', (line, offered) => {
    const script = `source "${join(folder, 'chairlift.fish')}"; complete -C "chairlift ${line}"`;
    const output = execFileSync('fish', ['--no-config', '-c', script], { encoding: 'utf8' });
    const words = output.trim().split('\n');
    expect(new Set(words.map((word) => word.split('\t')[0]))).toEqual(new Set(offered));
  });
});

describe('zsh', needs(program('zsh')), () => {
  it('takes the script, and gives its own function what it asks for', () => {
    const script = `
      compdef() { : }
      _describe() { print -l -- $commands }
      _arguments() { print -l -- "$@" }
      source "$1"; shift
      words=("$@") CURRENT=$#
      _chairlift`;
    const run = (...words: string[]) =>
      execFileSync(
        'zsh',
        ['-f', '-c', script, 'zsh', join(folder, 'chairlift.zsh'), 'chairlift', ...words],
        { encoding: 'utf8' },
      );
    expect(run('se')).toContain('serve:serve models over HTTP');
    const serve = run('serve', '--p');
    expect(serve).toContain('*--port=[port to listen on; 0 takes a free one]:port: ');
    expect(serve).toMatch(/\*--precision=.*:precision:\(auto fp32 fp16/);
    expect(serve).toContain("Jinja template in place of the model's own");
  });
});

/** Every block of code in the documentation is checked, or says why not. `npm run test:docs` runs them. */
import { describe, expect, it } from 'vitest';
import { commandsOf, isShell, markOf } from './support/marks.ts';
import { type Block, blocksOf, PAGES } from './support/pages.ts';

const COMMAND = /^\s*(\$|npm|npx|node|curl|chairlift|git|docker|python3|sudo)\s/m;

function block(comment: string | null, language = 'sh'): Block {
  return { page: 'a.md', line: 7, language, text: 'npm start', comment };
}

describe.each(PAGES)('%s', (page) => {
  const blocks = blocksOf(page);

  it('says of each block with a language how it is checked', () => {
    const problems = blocks
      .filter(({ language }) => language !== '')
      .flatMap((each) => {
        try {
          const { kind } = markOf(each);
          return isShell(each) && kind === 'is' ? [`${page}:${each.line}: a command`] : [];
        } catch (error) {
          return [String(error)];
        }
      });
    expect(problems).toEqual([]);
  });

  it('has commands in blocks with a language alone', () => {
    const commands = blocks.filter(({ language, text }) => language === '' && COMMAND.test(text));
    expect(commands.map(({ line, text }) => `${page}:${line}: ${text}`)).toEqual([]);
  });
});

describe('marks', () => {
  it('are read from the comment directly before a block', () => {
    const text = '# A\n\n<!-- run: clone -->\n```sh\nnpm start\n```\n\n```ts\nlet a;\n```\n';
    expect(blocksOf('a.md', text)).toEqual([
      { page: 'a.md', line: 4, language: 'sh', text: 'npm start', comment: 'run: clone' },
      { page: 'a.md', line: 8, language: 'ts', text: 'let a;', comment: null },
    ]);
  });

  it('are read in lists', () => {
    const text = '1. First:\n\n   <!-- not run: slow -->\n   ```sh\n   npm start\n   ```\n';
    expect(blocksOf('a.md', text)).toMatchObject([{ text: 'npm start', comment: 'not run: slow' }]);
  });

  it('have options', () => {
    expect(markOf(block('run: clone; serves; prints a, b'))).toEqual({
      kind: 'run',
      where: 'clone',
      serves: true,
      server: false,
      needs: null,
      prints: 'a, b',
    });
  });

  it.each([
    [null, 'there is no comment'],
    ['run it', 'does not begin with'],
    ['not run', 'does not begin with'],
    ['run: home', '"home" is none of folder, clone, package'],
    ['run: clone; server, serves', '"server, serves" is no option'],
    ['run: clone; needs cobol', '"needs cobol" is no option'],
  ])('%j is refused', (comment, problem) => {
    expect(() => markOf(block(comment))).toThrow(problem);
    expect(() => markOf(block(comment))).toThrow('a.md:7');
  });
});

it('splits a block into the commands that bash reads', () => {
  const text = `# first
npm start  # serves
curl a \\
  -d b
cat > f <<END
c
END
for i in 1 2; do
  echo $i
done`;
  expect(commandsOf(text).map((command) => command.split('\n').length)).toEqual([1, 2, 3, 3]);
});

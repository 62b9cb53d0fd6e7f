import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { AnswerPiece, ChatBackend, ChatTurn } from '../../../src/cli/chat/chat-backend.ts';
import { MessageReader } from '../../../src/cli/chat/message-reader.ts';
import { TerminalChat } from '../../../src/cli/chat/terminal-chat.ts';

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

/** Answers what it is told to, or for ever until it is stopped. */
class FakeBackend implements ChatBackend {
  readonly conversations: (readonly ChatTurn[])[] = [];
  readonly #answers: (readonly AnswerPiece[] | Error)[];

  constructor(answers: (readonly AnswerPiece[] | Error)[]) {
    this.#answers = answers;
  }

  async *answer(messages: readonly ChatTurn[], signal: AbortSignal): AsyncGenerator<AnswerPiece> {
    this.conversations.push(messages);
    const answer = this.#answers.shift() ?? [];
    if (answer instanceof Error) throw answer;
    yield* answer;
    if (answer.at(-1)?.text !== '...') return;
    await new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  }

  async close(): Promise<void> {}
}

const says = (text: string): AnswerPiece[] => [{ type: 'content', text }];

function start(answers: (readonly AnswerPiece[] | Error)[] = [], system = '') {
  const backend = new FakeBackend(answers);
  const input = new PassThrough();
  const output = new PassThrough();
  let shown = '';
  output.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  const chat = new TerminalChat({ backend, input, output, isTerminal: true, system });
  const ended = chat.run();
  const type = async (text: string, until: string | RegExp) => {
    const before = shown.length;
    input.write(text);
    await expect.poll(() => shown.slice(before)).toMatch(until);
    return shown.slice(before);
  };
  return { backend, ended, type, shown: () => shown, input };
}

const PROMPT = />>> /;
const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });
const system = (content: string) => ({ role: 'system', content });

test('it greets with the way to help', async () => {
  const { ended, input, shown } = start();
  input.write('/bye\r');
  await ended;
  expect(shown()).toMatch(/^Send a message \(\/\? for help\)\.\n/);
});

describe('the conversation', () => {
  test('goes on, and can be forgotten', async () => {
    const { backend, type, ended } = start([says('one'), says('two'), says('three')]);
    expect(await type('a\r', /one[^]*>>> /)).toContain('one\n');
    await type('b\r', /two[^]*>>> /);
    await type('/clear\r', /cleared[^]*>>> /);
    await type('c\r', /three[^]*>>> /);
    await type('/bye\r', /bye/);
    await ended;
    expect(backend.conversations).toEqual([
      [user('a')],
      [user('a'), assistant('one'), user('b')],
      [user('c')],
    ]);
  });

  test('begins with the system message', async () => {
    const { backend, type } = start([says('one'), says('two')], 'Be kind.');
    await type('a\r', /one[^]*>>> /);
    await type('/set system "Be brief."\r', /set[^]*>>> /);
    await type('b\r', /two[^]*>>> /);
    expect(backend.conversations[0]).toEqual([system('Be kind.'), user('a')]);
    expect(backend.conversations[1]?.[0]).toEqual(system('Be brief.'));
  });

  test('may have messages of several lines, in which nothing is a command', async () => {
    const { backend, type } = start([says('one')]);
    await type('"""/bye\r', /\.\.\. /);
    await type('\r', /\.\.\. /);
    await type('  b"""\r', /one[^]*>>> /);
    expect(backend.conversations).toEqual([[user('/bye\n\n  b')]]);
  });

  test('shows thoughts, and does not repeat them', async () => {
    const thought: AnswerPiece[] = [{ type: 'reasoning', text: 'Hm.' }, ...says('Yes.')];
    const { backend, type } = start([thought, says('two')]);
    const shown = await type('a\r', /Yes[^]*>>> /);
    expect(shown).toContain('Thinking...\nHm.\n...done thinking.\n\nYes.\n');
    await type('b\r', /two[^]*>>> /);
    expect(backend.conversations[1]).toEqual([user('a'), assistant('Yes.'), user('b')]);
  });

  test('goes on without a question that failed', async () => {
    const { backend, type } = start([new Error('no room'), says('two')]);
    await type('a\r', /no room[^]*>>> /);
    await type('b\r', /two[^]*>>> /);
    expect(backend.conversations[1]).toEqual([user('b')]);
  });
});

describe('Ctrl-C', () => {
  test('stops the answer, and what was said stays', async () => {
    const { backend, type, ended } = start([[...says('one'), ...says('...')], says('two')]);
    await type('a\r', /one\.\.\./);
    await type(CTRL_C, PROMPT);
    await type('b\r', /two[^]*>>> /);
    expect(backend.conversations[1]).toEqual([user('a'), assistant('one...'), user('b')]);
    await type(CTRL_D, '');
    await ended;
  });

  test('leaves a message of several lines, and says how to leave the chat', async () => {
    const { backend, type } = start([says('one')]);
    await type('"""a\r', /\.\.\. /);
    await type(CTRL_C, /Ctrl-D or \/bye to leave[^]*>>> /);
    await type('b\r', /one[^]*>>> /);
    expect(backend.conversations).toEqual([[user('b')]]);
  });
});

test('Ctrl-D leaves', async () => {
  const { type, ended, backend } = start();
  await type(CTRL_D, '');
  await ended;
  expect(backend.conversations).toEqual([]);
});

test('an empty line asks nothing, and unknown commands are named', async () => {
  const { backend, type } = start();
  await type('\r', PROMPT);
  expect(await type('/leave\r', /Unknown command[^]*>>> /)).toContain('Unknown command /leave');
  expect(await type('/?\r', /Ctrl-C[^]*>>> /)).toContain('/set system');
  expect(backend.conversations).toEqual([]);
});

describe('a message', () => {
  test.each([
    [['Hi'], 'Hi', false],
    [['"""Hi"""'], 'Hi', true],
    [['"""', 'a', 'b', '"""'], 'a\nb', true],
    [['"""a', 'say "x"', 'b"""  '], 'a\nsay "x"\nb', true],
  ])('of the lines %j', (lines, text, isQuoted) => {
    const reader = new MessageReader();
    const read = lines.map((line) => reader.push(line));
    expect(read.slice(0, -1).every((message) => message === null)).toBe(true);
    expect(read.at(-1)).toEqual({ text, isQuoted });
    expect(reader.isOpen).toBe(false);
  });
});

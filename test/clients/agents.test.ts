/**
 * Coding agents, unmodified: each makes a file and changes it in three turns. The model's part is scripted, by
 * how many of its calls were answered. None of them needs the network.
 */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { MODEL, says, useServers } from '../server/support/test-server.ts';
import { HERMES, THINK } from '../support/chat-formats.ts';
import { needs, program } from '../support/needs.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { record, type Exchange } from './support/recording-proxy.ts';

const run = promisify(execFile);
const server = useServers();
const TIMEOUT_MS = 120_000;
const END = 'All done.';

interface Call {
  readonly name: string;
  readonly arguments: object;
}

/** A server whose model makes these calls, one a turn, and ends. */
async function startScripted(calls: readonly Call[]) {
  const target = await server({
    // A token a character: what agents send has some 40,000 to 80,000.
    maxModelLen: 1_000_000,
    chatFormat: { toolCalls: HERMES, reasoning: THINK },
    script(promptTokenIds, request) {
      const prompt = target.runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false });
      const call = calls[prompt.split('<tool_response>').length - 1];
      const text = call ? `<tool_call>\n${JSON.stringify(call)}\n</tool_call>` : END;
      return says(text)(promptTokenIds, request);
    },
  });
  return record(target.url);
}

/** A new home, so that nothing of this machine is used or kept. */
async function scratch(): Promise<{ readonly home: string; readonly work: string }> {
  const folder = await temporaryDirectory();
  const home = join(folder, 'home');
  const work = join(folder, 'work');
  await Promise.all([mkdir(join(home, '.codex'), { recursive: true }), mkdir(work)]);
  return { home, work };
}

function streamsOf(exchanges: readonly Exchange[], path: string): readonly Exchange[] {
  return exchanges.filter(
    (each) => each.path === path && each.contentType.startsWith('text/event-stream'),
  );
}

describe('Codex', needs(program('codex', 'npm: @openai/codex')), () => {
  test('edits a file', async () => {
    const { home, work } = await scratch();
    const proxy = await startScripted([
      { name: 'exec_command', arguments: { cmd: 'echo hens > a.txt' } },
      { name: 'exec_command', arguments: { cmd: 'cat a.txt' } },
      { name: 'exec_command', arguments: { cmd: 'echo eggs >> a.txt' } },
    ]);
    const config = `model = "${MODEL}"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "${proxy.url}/v1"
wire_api = "responses"
`;
    await writeFile(join(home, '.codex/config.toml'), config);
    const flags = ['--dangerously-bypass-approvals-and-sandbox', '--skip-git-repo-check'];
    const agent = run('codex', ['exec', ...flags, 'Write a.txt.'], {
      cwd: work,
      timeout: TIMEOUT_MS,
      env: { PATH: process.env['PATH'], HOME: home, CODEX_HOME: join(home, '.codex') },
    });
    agent.child.stdin?.end();
    expect((await agent).stdout).toContain(END);
    expect(await readFile(join(work, 'a.txt'), 'utf8')).toBe('hens\neggs\n');
    expect(proxy.exchanges.filter(({ status }) => status >= 400)).toEqual([]);
    expect(streamsOf(proxy.exchanges, '/v1/responses')).toHaveLength(4);
  });
});

describe('Claude Code', needs(program('claude', 'npm: @anthropic-ai/claude-code')), () => {
  test('edits a file', async () => {
    const { home, work } = await scratch();
    const file = join(work, 'a.txt');
    const proxy = await startScripted([
      { name: 'Write', arguments: { file_path: file, content: 'hens\n' } },
      { name: 'Read', arguments: { file_path: file } },
      {
        name: 'Edit',
        arguments: { file_path: file, old_string: 'hens', new_string: 'hens and eggs' },
      },
    ]);
    const flags = ['--model', MODEL, '--dangerously-skip-permissions'];
    const agent = run('claude', ['-p', 'Write a.txt.', ...flags], {
      cwd: work,
      timeout: TIMEOUT_MS,
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        ANTHROPIC_BASE_URL: proxy.url,
        ANTHROPIC_AUTH_TOKEN: 'key',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        // As root it asks for this.
        IS_SANDBOX: '1',
      },
    });
    agent.child.stdin?.end();
    expect((await agent).stdout).toContain(END);
    expect(await readFile(file, 'utf8')).toBe('hens and eggs\n');
    expect(proxy.exchanges.filter(({ status }) => status >= 400)).toEqual([]);
    expect(streamsOf(proxy.exchanges, '/v1/messages')).toHaveLength(4);
  });
});

/** Runs a coding agent, unmodified, against a whole server whose model is scripted, and notes what it asked. */
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { writeCalls } from '../../../src/front/tool-calls/write-calls.ts';
import { HERMES } from '../../support/chat-formats.ts';
import type { Requirement } from '../../support/needs.ts';
import { writeScriptedModel } from '../../support/scripted-model.ts';
import { startServer } from '../../support/server-process.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type Exchange, record } from './recording-proxy.ts';

const run = promisify(execFile);
const TIMEOUT_MS = 180_000;

/** Whatever is not on this machine goes to a proxy that is not there. */
const NOWHERE = 'http://127.0.0.1:9';
const NO_NETWORK = { HTTP_PROXY: NOWHERE, HTTPS_PROXY: NOWHERE, NO_PROXY: '127.0.0.1' };

/** The scripted model's name. */
export const MODEL = 'scripted';
/** How it ends. */
export const END = 'All done.';

/** Settings that a program is started with. */
export interface Surroundings {
  /** Address of the server. */
  readonly url: string;
  /** A new one, so that nothing of this machine is used or kept. */
  readonly home: string;
  /** Where the agent works. */
  readonly work: string;
}

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  /** Arguments with which it is started once before, to be set up; left out where files do. */
  readonly first?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Text that comes on stdin; nothing if left out. */
  readonly input?: string;
}

export interface Call {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface Agent {
  readonly name: string;
  readonly needs: readonly Requirement[];
  /** Where its turns are asked for. */
  readonly path: string;
  /** Text that it moves in each turn, so that this is computed again; left out for nothing. */
  readonly moves?: string;
  /** Texts of the model in each turn but the last: a call, or text for agents that call no tools. */
  turns(work: string): readonly (Call | string)[];
  /** Writes its settings. @returns how it is started */
  setUp(surroundings: Surroundings): Promise<Command> | Command;
}

/** One request of an agent's loop. */
export interface Turn {
  readonly prompt: number;
  /** Tokens of the prompt that were there already. */
  readonly cached: number;
  readonly output: number;
}

export interface AgentRun {
  readonly work: string;
  readonly stdout: string;
  /** Calls of tools in the script. */
  readonly numCalls: number;
  readonly exchanges: readonly Exchange[];
  readonly turns: readonly Turn[];
}

export async function runAgent(agent: Agent): Promise<AgentRun> {
  const folder = await temporaryDirectory();
  const [home, work] = [join(folder, 'home'), join(folder, 'work')];
  await Promise.all([mkdir(home), mkdir(work)]);
  const model = join(folder, MODEL);
  const script = agent.turns(work);
  const numCalls = script.filter((turn) => typeof turn !== 'string').length;
  const texts = script.map((turn) =>
    typeof turn === 'string' ? turn : writeCalls(HERMES.layout, [turn]),
  );
  await writeScriptedModel(model, {
    turns: [...texts, END],
    // Titles and summaries that agents ask for beside their work.
    ...(numCalls > 0 && { withoutTools: END }),
  });
  const flags = ['--max-num-seqs', '4', '--log-level', 'info'];
  const server = await startServer([model, ...flags], { CHAIRLIFT_CACHE: join(folder, 'cache') });
  onTestFinished(async () => void (await server.stop()));
  const proxy = await record(server.url);
  const command = await agent.setUp({ url: proxy.url, home, work });
  const options = {
    cwd: work,
    timeout: TIMEOUT_MS,
    env: { PATH: process.env['PATH'], HOME: home, ...NO_NETWORK, ...command.env },
  };
  if (command.first !== undefined) await run(command.program, command.first, options);
  const started = run(command.program, command.args, options);
  started.child.stdin?.end(command.input);
  const { stdout } = await started;
  await server.stop();
  const { exchanges } = proxy;
  const isTurn = ({ path, contentType, body }: Exchange) =>
    path === agent.path &&
    contentType.startsWith('text/event-stream') &&
    (numCalls === 0 || hasTools(body));
  const tokens = tokensByRequest(server.output());
  const turns = exchanges.filter(isTurn).map(({ requestId }) => {
    const found = tokens.get(requestId);
    if (found === undefined) throw new Error(`the log has no request ${requestId}`);
    return found;
  });
  return { work, stdout, numCalls, exchanges, turns };
}

function hasTools(body: string): boolean {
  const { tools = [] } = z
    .looseObject({ tools: z.array(z.unknown()).optional() })
    .parse(JSON.parse(body));
  return tools.length > 0;
}

const logLine = z.object({
  requestId: z.string(),
  tokens: z.object({ prompt: z.number(), cached: z.number(), output: z.number() }),
});

/** As the server's log has them: not all APIs tell clients how much was cached. */
function tokensByRequest(output: string): ReadonlyMap<string, Turn> {
  const lines = output.split('\n').filter((line) => line.includes('"msg":"request"'));
  const parsed = lines.map((line) => logLine.safeParse(JSON.parse(line)));
  return new Map(
    parsed.flatMap(({ data }) => (data === undefined ? [] : [[data.requestId, data.tokens]])),
  );
}

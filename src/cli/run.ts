import { Command } from 'commander';
import { text as readAll } from 'node:stream/consumers';
import { z } from 'zod';
import type { ChatBackend, ChatSettings, ChatTurn } from './chat/chat-backend.ts';
import { EngineBackend } from './chat/engine-backend.ts';
import { ServerBackend } from './chat/server-backend.ts';
import { tellAnswer } from './chat/tell-answer.ts';
import { TerminalChat } from './chat/terminal-chat.ts';
import { addClientFlags, readClientFlags, type ServerAccess } from './flags/client-flags.ts';
import { findModel } from './local-models.ts';
import { ServerClient } from './server-client.ts';
import { UsageError } from './usage-error.ts';

const ownOptions = z.object({
  server: z.boolean(),
  system: z.string().default(''),
  temperature: z.coerce.number().min(0).max(2).optional(),
  seed: z.coerce.number().pipe(z.int()).optional(),
  maxTokens: z.coerce.number().pipe(z.int().min(1)).optional(),
});

/** `chairlift run`: a chat in the terminal. */
export function runCommand(): Command {
  const command = new Command('run')
    .description('chat with a model: of the server that runs, or in an engine of its own')
    .argument('<model>', 'its name on the server; without one a name of `list`, or a folder')
    .argument('[prompt...]', 'what to say; then, and with text on stdin, it answers once')
    .option('--no-server', 'in an engine of its own, whatever runs')
    .option('--system <text>', 'system message')
    .option('--temperature <t>', "0 is greedy (default: the model's own)")
    .option('--seed <n>', 'for answers that can be repeated')
    .option('--max-tokens <n>', 'most tokens of an answer (default: what fits)');
  return addClientFlags(command).action(async (model: string, prompt: readonly string[]) => {
    const own = ownOptions.safeParse(command.opts());
    if (!own.success) throw new UsageError(z.prettifyError(own.error));
    const { system, server, ...settings } = own.data;
    const typed = prompt.join(' ');
    const piped = process.stdin.isTTY ? '' : await readAll(process.stdin);
    const question = [typed, piped.trimEnd()].filter((text) => text !== '').join('\n\n');
    const isChat = process.stdin.isTTY && question === '';
    if (!isChat && question === '') throw new UsageError('the question is empty');
    const access = server ? readClientFlags(command) : null;
    const backend = await openBackend(model, access, settings);
    try {
      if (isChat) await chat(backend, system);
      else await answerOnce(backend, system, question);
    } finally {
      await backend.close();
    }
  });
}

async function openBackend(
  model: string,
  access: ServerAccess | null,
  settings: ChatSettings,
): Promise<ChatBackend> {
  const client = access && new ServerClient(access);
  // A user who names a server does not want an answer from elsewhere.
  if (client !== null && (access?.isGiven === true || (await client.isThere()))) {
    const backend = new ServerBackend(client, model, settings);
    await backend.load();
    return backend;
  }
  const source = await findModel(model, process.env['CHAIRLIFT_MODEL_REPOSITORY']);
  return EngineBackend.start(source, settings);
}

function chat(backend: ChatBackend, system: string): Promise<void> {
  const { stdin: input, stdout: output } = process;
  return new TerminalChat({ backend, input, output, isTerminal: true, system }).run();
}

/** Ctrl-C ends the answer, and with it the command. */
async function answerOnce(backend: ChatBackend, system: string, content: string): Promise<void> {
  const stopped = new AbortController();
  process.once('SIGINT', () => stopped.abort());
  const messages: readonly ChatTurn[] = [
    ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
    { role: 'user', content },
  ];
  const { signal } = stopped;
  await tellAnswer(backend.answer(messages, signal), process.stdout, signal);
  if (signal.aborted) process.exitCode = 130;
}

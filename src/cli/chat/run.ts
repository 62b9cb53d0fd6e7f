import { text as readAll } from 'node:stream/consumers';
import { LIMITS } from '../../limits.ts';
import { readBounded } from '../../files/read-bounded.ts';
import { reasonOf } from '../../files/system-error.ts';
import type { ChatBackend, ChatTurn } from './chat-backend.ts';
import { EngineBackend } from './engine-backend.ts';
import { ServerBackend } from './server-backend.ts';
import { tellAnswer } from './tell-answer.ts';
import { TerminalChat } from './terminal-chat.ts';
import { findModel } from '../../serving/models/find-model.ts';
import { COMPUTING } from '../../settings/flag-sets.ts';
import { nameOf } from '../../settings/flags/flag-spec.ts';
import { specOf } from '../../settings/options.ts';
import { samplingOf } from '../../serving/plan/sampling.ts';
import { serverAccess } from '../server/server-access.ts';
import { ServerClient } from '../server/server-client.ts';
import type { Settings } from '../../settings/settings.ts';
import { SlowNotice } from '../../serving/progress/slow-notice.ts';
import { UsageError } from '../../settings/usage-error.ts';

/** `chairlift run`: a chat in the terminal. */
export async function run(settings: Settings<'run'>): Promise<void> {
  const [model = '', ...prompt] = settings.operands;
  const { system = '' } = settings.options;
  const images = await Promise.all((settings.options.image ?? []).map(readImage));
  const typed = prompt.join(' ');
  const piped = process.stdin.isTTY ? '' : await readAll(process.stdin);
  const question = [typed, piped.trimEnd()].filter((text) => text !== '').join('\n\n');
  const isChat = process.stdin.isTTY && question === '';
  if (isChat && images.length > 0) throw new UsageError('--image needs a question');
  if (!isChat && question === '') throw new UsageError('the question is empty');
  const backend = await openBackend(model, settings);
  try {
    if (isChat) await chat(backend, system);
    else await answerOnce(backend, system, { role: 'user', content: question, images });
  } finally {
    await backend.close();
  }
}

/** Flags of an engine, which say nothing to a server that runs. */
const OF_ENGINE = [
  ...COMPUTING,
  'chatTemplate',
  'generationConfig',
  'mmproj',
  'modelRepository',
] as const;

async function openBackend(model: string, settings: Settings<'run'>): Promise<ChatBackend> {
  const { options } = settings;
  const { seed, maxTokens } = options;
  if (options.server) {
    const access = await serverAccess(options);
    const client = new ServerClient(access);
    // A user who names a server does not want an answer from elsewhere.
    if (access.isGiven || (await client.isThere())) {
      const sampling = samplingOf({}, options);
      const idle = OF_ENGINE.filter((name) => settings.sourceOf(name) === 'flag');
      const flags = idle.map((name) => `--${nameOf(specOf(name))}`).join(', ');
      if (flags !== '') {
        console.error(
          `chairlift: the server at ${client.url} answers, without ${flags}; --no-server has an engine of its own`,
        );
      }
      const backend = new ServerBackend(client, model, { seed, maxTokens, sampling });
      await new SlowNotice().during(`loading ${model} at ${client.url}`, backend.load());
      return backend;
    }
  }
  const found = await findModel(model, options.modelRepository);
  return EngineBackend.start(found, options, { seed, maxTokens });
}

function chat(backend: ChatBackend, system: string): Promise<void> {
  const { stdin: input, stdout: output } = process;
  return new TerminalChat({ backend, input, output, isTerminal: true, system }).run();
}

/** @throws UsageError */
async function readImage(path: string): Promise<Uint8Array> {
  return await readBounded(path, LIMITS.imageBytes).catch((error: unknown) => {
    throw new UsageError(`--image ${path}: ${reasonOf(error)}`);
  });
}

/** Ctrl-C ends the answer, and with it the command. */
async function answerOnce(backend: ChatBackend, system: string, asked: ChatTurn): Promise<void> {
  const stopped = new AbortController();
  process.once('SIGINT', () => stopped.abort());
  const messages: readonly ChatTurn[] = [
    ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
    asked,
  ];
  const { signal } = stopped;
  await tellAnswer(backend.answer(messages, signal), process.stdout, signal);
  if (signal.aborted) process.exitCode = 130;
}

/** Starts a generation, and knows at once whether it was admitted. */
import type { Caller } from '../../front/caller.ts';
import type { ChatDelta } from '../../front/chat/chat-delta.ts';
import { AssistantMessage } from '../../front/chat/assistant-message.ts';
import type { PreparedChat } from '../../front/chat/prepare-chat.ts';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { GenerationDelta } from '../../front/generation/generation.ts';
import { mapStream, watchStream } from '../../front/generation/map-stream.ts';
import { type ModelFacts, RequestRecord } from '../../front/request-record.ts';
import { ShuttingDownError } from '../../front/queue/admission.ts';
import type { ServerContext } from '../context.ts';
import type { ServedText } from '../runtimes.ts';
import { createId } from '../ids.ts';
import { Charge } from './stages/charge.ts';
import { requireRoom } from './stages/room.ts';

/**
 * Before the body is read, and it is known which model it is for: whether any could be had.
 * @param client that wants to be served
 * @throws ApiError 503 when no new request can be taken; ShuttingDownError, QueueFullError.
 */
export function requireServing(context: ServerContext, client: string): void {
  if (context.isDraining()) throw new ShuttingDownError();
  const [only, another] = context.models.loaded();
  const isOnly = another === undefined && context.models.list().length === 1;
  if (!isOnly || only?.runtime.kind !== 'text') return;
  requireRoom(only.runtime, client, context.tiers.bestOf(client).priority);
}

/**
 * Sends `request` down the model's line of stages. A refusal (bad grammar, queue full, shutting down) throws
 * here, while the answer's status can still be chosen; whatever happens later, the wait for the first token
 * included, is met in the deltas. Past its deadline, or the server's for `caller`, the generation ends with a
 * TimeoutError.
 */
export function startGeneration(
  { generate, model, adapter = null, started }: ServedText,
  request: FanOutRequest,
  caller: Caller,
  operation: ModelFacts['operation'] = 'text_completion',
): Promise<AsyncIterableIterator<GenerationDelta, void>> {
  const { signal, record = new RequestRecord() } = caller;
  return generate({
    operation,
    asked: request,
    request,
    caller: { ...caller, record },
    model,
    adapter,
    started,
    ending: new AbortController(),
    signal,
    charge: new Charge(),
    plan: null,
  });
}

/** Starts a chat: as `startGeneration`, with deltas that tell thoughts and tool calls from text. */
export async function startChat(
  served: ServedText,
  chat: PreparedChat,
  caller: Caller,
): Promise<AsyncIterableIterator<ChatDelta>> {
  const deltas = chat.createDeltas(caller.answer?.id ?? createId(''));
  const generated = await startGeneration(served, chat.generation, caller, 'chat');
  const told = mapStream(generated, (delta) => deltas.push(delta));
  return expectNextTurn(served, chat, caller, told);
}

/** Once the answer is complete, what the conversation may go on with is computed ahead. */
function expectNextTurn(
  { nextTurns, cacheSaltOf }: ServedText,
  { prompt, generation: { prompts, numChoices } }: PreparedChat,
  { client }: Caller,
  told: AsyncIterableIterator<ChatDelta, void>,
): AsyncIterableIterator<ChatDelta, void> {
  if (nextTurns === null || prompt === undefined || numChoices > 1) return told;
  const answer = new AssistantMessage();
  let isComplete = false;
  return watchStream(told, {
    onValue(delta) {
      answer.add(delta);
      isComplete = delta.finishReason === 'stop' || delta.finishReason === 'tool_calls';
    },
    onEnd() {
      if (!isComplete) return;
      const cacheSalt = cacheSaltOf(client, prompts[0]?.cacheSalt ?? '');
      void nextTurns.expect(prompt, answer, { client, cacheSalt });
    },
  });
}

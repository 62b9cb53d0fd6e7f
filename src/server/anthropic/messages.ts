/** /v1/messages, as Anthropic has it: from its body to a prepared generation. */
import type { Caller } from '../../front/caller.ts';
import { prepareChat } from '../../front/chat/prepare-chat.ts';
import { mapStream, withFirst } from '../../front/generation/map-stream.ts';
import type { AnswerApi } from '../answers/answer-route.ts';
import type { PreparedAnswer } from '../answers/prepared-answer.ts';
import type { ServedText } from '../runtimes.ts';
import { startChat } from '../generation/start-generation.ts';
import { NAMED_EVENTS } from '../http/sse.ts';
import { createId } from '../ids.ts';
import { messagesBody } from '../schemas/anthropic.ts';
import { parseWith } from '../schemas/parse.ts';
import { rejectUnsupportedByAnthropic } from '../schemas/unsupported.ts';
import { parseTools, toChatRequest } from './chat-request.ts';
import { MESSAGES_PATH, toAnthropicEnvelope } from './errors.ts';
import { GrowingMessage } from './message.ts';

export const MESSAGES_API: AnswerApi = {
  path: MESSAGES_PATH,
  prepare: prepareMessage,
  style: NAMED_EVENTS,
  toEvent: toAnthropicEnvelope,
};

/** @throws ApiError 4xx when the body can't be served. */
async function prepareMessage(
  served: ServedText,
  json: unknown,
  caller: Caller,
): Promise<PreparedAnswer> {
  const body = parseWith(messagesBody, json);
  rejectUnsupportedByAnthropic(body);
  const { tools, skipped } = parseTools(body.tools);
  const chat = await prepareChat(served, toChatRequest(body, tools, served.model), caller);
  const id = caller.answer ? `msg_${caller.answer.id}` : createId('msg_');
  const head = { id, model: served.model.id, skipped };
  const message = new GrowingMessage(head, chat.generation);
  return {
    stream: body.stream ?? false,
    async chunks(starter) {
      const deltas = await startChat(served, chat, starter);
      const events = mapStream(
        deltas,
        (delta) => message.push(delta),
        () => message.end(),
      );
      // At once, before there is a token.
      return withFirst(Promise.resolve({ done: false, value: message.start() }), events);
    },
    async whole(starter) {
      const deltas = await startChat(served, chat, starter);
      for await (const delta of deltas) message.push(delta);
      message.end();
      return message.toJson();
    },
  };
}

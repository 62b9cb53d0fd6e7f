/** OpenAI's two completion APIs, and SageMaker's path for both. */
import type { AnswerApi } from '../answers/answer-route.ts';
import type { Prepare } from '../answers/prepared-answer.ts';
import { PLAIN_EVENTS } from '../http/sse.ts';
import { prepareChatCompletion } from './chat-completions.ts';
import { prepareCompletion } from './completions.ts';

/** Completion API of each path, over HTTP and WebSocket alike. */
export const COMPLETION_PATHS: ReadonlyMap<string, Prepare> = new Map([
  ['/v1/chat/completions', prepareChatCompletion],
  ['/v1/completions', prepareCompletion],
]);

export const COMPLETION_APIS: readonly AnswerApi[] = Array.from(
  COMPLETION_PATHS,
  ([path, prepare]) => ({
    path,
    // llama-server's /completions is another API.
    ...(path === '/v1/chat/completions' ? { shortPath: '/chat/completions' } : {}),
    prepare,
    style: PLAIN_EVENTS,
    toEvent: (error) => ({ ...error.toEnvelope() }),
  }),
);

/** SageMaker asks all models by one path; the body says which API it means, as in vLLM. */
export const INVOCATIONS_API: AnswerApi = {
  path: '/invocations',
  prepare(served, json, caller, server) {
    const isChat = typeof json === 'object' && json !== null && 'messages' in json;
    return (isChat ? prepareChatCompletion : prepareCompletion)(served, json, caller, server);
  },
  style: PLAIN_EVENTS,
  toEvent: (error) => ({ ...error.toEnvelope() }),
};

/** Starts a generation, and knows at once whether it was admitted. */
import { setImmediate } from 'node:timers/promises';
import { ANY_ANSWER, type Caller } from '../../front/caller.ts';
import type { ChatDelta } from '../../front/chat/chat-delta.ts';
import { AssistantMessage } from '../../front/chat/assistant-message.ts';
import type { PreparedChat } from '../../front/chat/prepare-chat.ts';
import { grantTo, saltOf } from '../../front/generation/client-grant.ts';
import { fanOut, type FanOutRequest } from '../../front/generation/fan-out.ts';
import type { GenerationDelta } from '../../front/generation/generation.ts';
import { mapStream, watchStream, withFirst } from '../../front/generation/map-stream.ts';
import { type ModelFacts, RequestRecord } from '../../front/request-record.ts';
import type { AnswerPlan, StartRun } from '../../front/response-cache/generation-cache.ts';
import { ShuttingDownError } from '../../front/queue/admission.ts';
import { NotCachedError } from '../../front/response-cache/not-cached-error.ts';
import type { GrammarSpec } from '../../grammar/grammar-spec.ts';
import { LIMITS } from '../../limits.ts';
import type { ModelContext, ServerContext } from '../context.ts';
import { withDeadline } from './deadline.ts';
import { unavailable } from '../errors.ts';
import { createId } from '../ids.ts';
import type { RunningRequest } from '../operating/running-requests.ts';
import { grantedClass } from '../tiers/service-tiers.ts';
import { compiled } from './structured-outputs.ts';

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

function requireRoom({ engine, admission }: RoomSource, client: string, tier: number): void {
  const { state } = engine;
  if (state === 'failed' || state === 'stopped' || state === 'starting') {
    throw unavailable(`The engine is ${state}.`);
  }
  // Before work is spent on the request: templates and tokenizers cost time.
  admission.requireRoom(0, client, tier);
}

type RoomSource = Pick<ModelContext, 'engine' | 'admission'>;

/**
 * Queues `request`. A refusal (bad grammar, queue full, shutting down) throws here, while the answer's status
 * can still be chosen; whatever happens later, the wait for the first token included, is met in
 * the deltas. Past its deadline, or the server's for `caller`, the generation ends with a TimeoutError.
 */
export async function startGeneration(
  context: ModelContext,
  request: FanOutRequest,
  asker: Caller,
  operation: ModelFacts['operation'] = 'text_completion',
): Promise<AsyncIterableIterator<GenerationDelta>> {
  const caller = { ...asker, record: asker.record ?? new RequestRecord() };
  const { usage, model, adapter = null, contentId } = context;
  if (context.isDraining()) throw new ShuttingDownError();
  const { client } = caller;
  const granted = grant(request, caller, context);
  const {
    prompts: [first],
    grammar: source,
  } = granted;
  requireRoom(context, caller.client, first?.serviceClass?.priority ?? 0);
  const ending = new AbortController();
  const signal = withDeadline(
    AbortSignal.any([caller.signal, ending.signal]),
    first?.timeoutMs ?? null,
  );
  const { record } = caller;
  record.requestId = caller.requestId ?? null;
  record.asked = factsOf(context, request, operation);
  record.numPromptTokens = countPromptTokens(request.prompts);
  if (context.config.logPrompts)
    record.prompt = await beginningOf(context, first, { client, signal });
  const grammar = source && (await compiled(context, source, { ...caller, signal }));
  const complete = withAdapter(grammar ? withGrammar(granted, grammar) : granted, adapter);
  const resumed = caller.answer?.start(request, { ...model, adapter, contentId }) ?? [];
  // What began elsewhere is not whole, and an adapter's name may come to stand for other weights.
  const mayKeep = resumed.length === 0 && !adapter;
  const plan = mayKeep ? planOf(context, complete, caller) : null;
  const found = await plan?.find();
  if (found) {
    caller.cache?.tell?.({ status: 'hit', ageMs: found.ageMs });
    usage.add(client, model.id, { cachedRequests: 1 });
    const { answer } = caller;
    if (!answer) return found.deltas;
    return watchStream(found.deltas, { onValue: (delta) => answer.record(delta), onEnd() {} });
  }
  if (caller.cache?.onlyFound === true) throw new NotCachedError();
  const settle = await caller.meter?.charge(mostTokens(request));
  const start: StartRun = (until) => fanOut(context.generator, { ...complete, resumed }, until);
  const { deltas, isOwn, chargedTokens } = run(plan, start, signal, caller);
  const next = deltas.next();
  try {
    // The generator decides on admission before it waits for anything, so a refusal is here within
    // this turn of the event loop.
    await Promise.race([next, setImmediate()]);
  } catch (error) {
    await settle?.(0);
    throw error;
  }
  const { request: running, remove } = listed(context, granted, caller, ending);
  return watchStream(withFirst(next, deltas), {
    onValue(delta) {
      const { tokenIds, numCachedTokens, choice = 0 } = delta;
      running.outputTokens += tokenIds.length;
      // The other choices find what the first has just computed.
      if (numCachedTokens !== undefined && choice % request.numChoices === 0) {
        record.numCachedTokens += numCachedTokens;
      }
      caller.answer?.record(delta);
    },
    onEnd() {
      remove();
      record.numOutputTokens = running.outputTokens;
      const promptTokens = isOwn ? running.promptTokens : 0;
      const outputTokens = chargedTokens?.() ?? running.outputTokens;
      usage.add(client, model.id, { cachedRequests: isOwn ? 0 : 1, promptTokens, outputTokens });
      void settle?.(promptTokens + outputTokens);
    },
  });
}

function factsOf(
  { model }: ModelContext,
  { prompts, numChoices }: FanOutRequest,
  operation: ModelFacts['operation'],
): ModelFacts | null {
  const [first] = prompts;
  if (first === undefined) return null;
  const { maxTokens, stop, sampling } = first;
  const generation = { numChoices, maxTokens, stop, sampling };
  return { operation, model: model.id, generation };
}

/** Of a prompt, for the log. */
function beginningOf(
  { prompts }: ModelContext,
  request: FanOutRequest['prompts'][number] | undefined,
  caller: Caller,
): Promise<string> {
  const tokenIds = request?.promptTokenIds.subarray(0, LIMITS.loggedPromptTokens) ?? [];
  return prompts.decode([...tokenIds], caller);
}

function countPromptTokens(prompts: FanOutRequest['prompts']): number {
  return prompts.reduce((sum, { promptTokenIds }) => sum + promptTokenIds.length, 0);
}

function planOf(
  { answers, buildId }: ModelContext,
  request: FanOutRequest,
  { client, cache = ANY_ANSWER }: Caller,
): AnswerPlan | null {
  const plan = answers?.planOf(request, { buildId, client }, cache) ?? null;
  if (answers !== null && plan === null) cache.tell?.({ status: 'bypass' });
  return plan;
}

interface Run {
  readonly deltas: AsyncIterableIterator<GenerationDelta, void>;
  /** Whether it was started for this request. */
  readonly isOwn: boolean;
  /** Of its tokens so far, those that this request pays; all if left out. */
  readonly chargedTokens?: () => number;
}

/** Starts a generation, or joins an equal one. */
function run(plan: AnswerPlan | null, start: StartRun, signal: AbortSignal, caller: Caller): Run {
  if (plan === null) return { deltas: start(signal), isOwn: true };
  const { reader, isShared } = plan.run(start, signal);
  caller.cache?.tell?.({ status: isShared ? 'shared' : 'miss' });
  return { deltas: reader, isOwn: !isShared, chargedTokens: () => reader.chargedTokens };
}

/** What a request may come to, prompts included. */
function mostTokens({ prompts, numChoices }: FanOutRequest): number {
  return prompts.reduce(
    (sum, { promptTokenIds, maxTokens }) => sum + promptTokenIds.length + numChoices * maxTokens,
    0,
  );
}

/** Puts a request on the list of those that run, until its stream ends. */
function listed(
  { running, model }: ModelContext,
  { prompts }: FanOutRequest,
  { client, requestId = createId('req_'), record }: Caller & { readonly record: RequestRecord },
  ending: AbortController,
): { readonly request: RunningRequest; readonly remove: () => void } {
  const request: RunningRequest = {
    id: requestId,
    client,
    model: model.id,
    serviceClass: prompts[0]?.serviceClass?.name ?? null,
    promptTokens: countPromptTokens(prompts),
    startedAt: performance.now(),
    state: () => record.state,
    outputTokens: 0,
  };
  return { request, remove: running.add(request, ending) };
}

/** Starts a chat: as `startGeneration`, with deltas that tell thoughts and tool calls from text. */
export async function startChat(
  context: ModelContext,
  chat: PreparedChat,
  caller: Caller,
): Promise<AsyncIterableIterator<ChatDelta>> {
  const deltas = chat.createDeltas(caller.answer?.id ?? createId(''));
  const generated = await startGeneration(context, chat.generation, caller, 'chat');
  const told = mapStream(generated, (delta) => deltas.push(delta));
  return expectNextTurn(context, chat, caller, told);
}

/** Once the answer is complete, what the conversation may go on with is computed ahead. */
function expectNextTurn(
  { nextTurns, config }: ModelContext,
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
      const cacheSalt = saltOf(client, prompts[0]?.cacheSalt ?? '', config);
      void nextTurns.expect(prompt, answer, { client, cacheSalt });
    },
  });
}

/**
 * Sets what a request may not choose itself: its service class, beyond what its client may have, and
 * what depends on that and on its client; and the seed that it leaves to the server, if its answer can
 * move.
 * @throws ApiError 400 for a service class that there is not
 */
function grant(
  request: FanOutRequest,
  caller: Caller & { readonly record: RequestRecord },
  { tiers, config }: Pick<ServerContext, 'tiers' | 'config'>,
): FanOutRequest {
  const { client, record, answer } = caller;
  const prompts = request.prompts.map((prompt) => {
    const serviceClass = grantedClass(tiers, caller, prompt.serviceTier);
    const timeoutMs = shorter(prompt.timeoutMs ?? null, serviceClass.deadlineMs);
    const sampling =
      answer && !prompt.hasSeed ? { ...prompt.sampling, seed: answer.seed } : prompt.sampling;
    const granted = grantTo(client, prompt, config, serviceClass);
    return { ...prompt, ...granted, sampling, timeoutMs, record };
  });
  return { ...request, prompts };
}

function shorter(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

function withAdapter(request: FanOutRequest, adapter: ModelContext['adapter']): FanOutRequest {
  if (!adapter) return request;
  return { ...request, prompts: request.prompts.map((prompt) => ({ ...prompt, adapter })) };
}

function withGrammar(request: FanOutRequest, grammar: GrammarSpec): FanOutRequest {
  return { ...request, prompts: request.prompts.map((prompt) => ({ ...prompt, grammar })) };
}

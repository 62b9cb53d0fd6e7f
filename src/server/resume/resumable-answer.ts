/** One answer that can be taken up by another replica: what it says of itself, and how far it has come. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { AnswerFollower, AnsweringAdapter, AnsweringModel } from '../../front/caller.ts';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { TokenDelta } from '../../front/generation/generation.ts';
import type { ResumedChoice } from '../../front/generation/resumption.ts';
import { LIMITS } from '../../limits.ts';
import { badRequest, cannotResume } from '../errors.ts';
import { AnswerProgress, type Standing } from './answer-progress.ts';
import type { ResumeKey } from './resume-key.ts';
import type { ResumeBody } from './resume-body.ts';

/** Use of the tokens' seal. */
const USE = 'resume';

const UNKNOWN: ResumedChoice = { outputTokenIds: new Int32Array(), numSeen: 0 };
/** State of an answer before it was started. */
const NOTHING: Standing = { hasBegun: false, choices: [], numEvents: 0 };

/** Properties of an answer that are not in its request. */
const identity = z.object({
  path: z.string(),
  /** Client that asked for it. */
  client: z.string(),
  id: z.string(),
  /** Unix time in seconds. */
  created: z.number(),
  /** Drawn for a request that has no seed of its own; 64 bits, in decimal. */
  seed: z.string(),
});

const sealedAnswer = identity.extend({
  model: z.string(),
  /** Null for the model alone. A request's `lora` goes by places, which are one server's. */
  adapter: z
    .object({ name: z.string(), id: z.string(), scale: z.number() })
    .nullable()
    .default(null),
  /** See AnsweringModel. */
  contentId: z.string(),
  /** Digest of the tokens of all prompts. */
  promptDigest: z.string(),
  /** Unix time in milliseconds. */
  expires: z.number(),
});

type SealedAnswer = z.infer<typeof sealedAnswer>;

export class ResumableAnswer implements AnswerFollower {
  readonly #key: ResumeKey;
  readonly #identity: z.infer<typeof identity>;
  /** Answer that it continues; null for a new answer. */
  readonly #before: { readonly sealed: SealedAnswer; readonly resume: ResumeBody } | null;
  /** Whether its events have ids: not those of an answer of very many choices. */
  canBeTold = false;
  #progress = new AnswerProgress(NOTHING);
  /** Whether known tokens do: log-probabilities come from the steps that computed them. */
  #knowsByTokens = true;
  #sealed: SealedAnswer | undefined;

  /**
   * @param resume null for a new answer
   * @throws ApiError 400 for a token that is not this server's, not this client's or too old
   */
  constructor(key: ResumeKey, path: string, client: string, resume: ResumeBody | null) {
    this.#key = key;
    this.#before = resume && { resume, sealed: open(key, resume.token, { path, client }) };
    this.#identity = this.#before?.sealed ?? {
      path,
      client,
      id: randomUUID().replaceAll('-', ''),
      created: Math.floor(Date.now() / 1000),
      seed: String(randomBytes(8).readBigUInt64LE()),
    };
  }

  /** Whether it was begun elsewhere. */
  get isResumed(): boolean {
    return this.#before !== null;
  }

  get id(): string {
    return this.#identity.id;
  }

  /** Unix time in seconds. */
  get created(): number {
    return this.#identity.created;
  }

  get adapter(): AnsweringAdapter | null | undefined {
    return this.#before?.sealed.adapter;
  }

  /** For a request that has none of its own. */
  get seed(): bigint {
    return BigInt(this.#identity.seed);
  }

  /**
   * Called once the prompt is known. @returns where its choices stand; none for a new answer
   * @throws ApiError 400 when what is known does not fit the request, 409 for another prompt or model
   */
  start(request: FanOutRequest, model: AnsweringModel): readonly ResumedChoice[] {
    this.#sealed = {
      ...this.#identity,
      model: describe(model),
      adapter: adapterOf(model),
      contentId: model.contentId,
      promptDigest: digestOf(request),
      expires: Date.now() + LIMITS.resumeMs,
    };
    const numChoices = request.prompts.length * request.numChoices;
    this.canBeTold = numChoices <= LIMITS.resumableChoices;
    this.#knowsByTokens = request.prompts.every(
      ({ logprobs, promptLogprobs }) => logprobs === null && promptLogprobs === null,
    );
    const choices = this.#before ? this.#resumedChoices(request, model, numChoices) : [];
    const { counts = [], events = 0 } = this.#before?.resume ?? {};
    this.#progress = new AnswerProgress({
      hasBegun: counts.length > 0,
      choices: this.#before ? choices : Array.from({ length: numChoices }, () => UNKNOWN),
      numEvents: events,
    });
    return choices;
  }

  record(delta: TokenDelta): void {
    this.#progress.record(delta);
  }

  nextEventNumber(): number {
    return this.#progress.nextEventNumber();
  }

  /** Id of the event with all that was generated since the last call; null if it was sent before. */
  takeEventId(): string | null {
    return this.#progress.takeEventId();
  }

  /** Token for a client to have the answer resumed. Not before `start`. */
  get token(): string {
    if (this.#sealed === undefined) throw new Error('the answer has not been started');
    return this.#key.seal(USE, JSON.stringify(this.#sealed));
  }

  /**
   * Body for resuming the answer: after the events whose ids were sent, or from its start if no ids are
   * sent.
   * @returns null for a new answer that has not been started
   */
  resumeBody(areTold: boolean): ResumeBody | null {
    if (this.#sealed === undefined) return this.#before?.resume ?? null;
    const { hasBegun, choices, numEvents } = areTold
      ? this.#progress.told()
      : this.#progress.unseen();
    return {
      token: this.token,
      counts: hasBegun ? choices.map(({ numSeen }) => numSeen) : [],
      events: numEvents,
      tokens: choices.map(({ outputTokenIds, numSeen }) => [
        ...(this.#knowsByTokens ? outputTokenIds : outputTokenIds.subarray(0, numSeen)),
      ]),
    };
  }

  #resumedChoices(
    request: FanOutRequest,
    model: AnsweringModel,
    numChoices: number,
  ): readonly ResumedChoice[] {
    const { sealed, resume } = this.#before ?? {};
    if (sealed === undefined || resume === undefined) return [];
    if (sealed.model !== describe(model)) {
      throw cannotResume(
        `It began with the model ${sealed.model}, and this is ${describe(model)}.`,
      );
    }
    if (sealed.contentId !== model.contentId) {
      throw cannotResume(
        `It began with another version of the model ${model.id}: with other weights, another graph or another tokenizer.`,
      );
    }
    if (sealed.promptDigest !== digestOf(request)) {
      throw cannotResume('It began with another prompt.');
    }
    const { tokens = [] } = resume;
    const counts = resume.counts.length > 0 ? resume.counts : Array<number>(numChoices).fill(0);
    if (counts.length !== numChoices || tokens.length > numChoices) {
      throw badRequest(`\`resume\` must be of ${numChoices} choices.`, 'resume', 'invalid_value');
    }
    return counts.map((numSeen, choice) => {
      const maxTokens = request.prompts[Math.floor(choice / request.numChoices)]?.maxTokens ?? 0;
      const outputTokenIds = Int32Array.from(tokens[choice] ?? []);
      const isInVocabulary = outputTokenIds.every((tokenId) => tokenId < model.vocabSize);
      if (!isInVocabulary || outputTokenIds.length > maxTokens || numSeen > maxTokens) {
        throw badRequest(
          `\`resume\`: choice ${choice} has more tokens than the answer may have, or one that the model does not know.`,
          'resume',
          'invalid_value',
        );
      }
      return { outputTokenIds, numSeen };
    });
  }
}

function open(
  key: ResumeKey,
  token: string,
  { path, client }: Pick<SealedAnswer, 'path' | 'client'>,
): SealedAnswer {
  const text = key.open(USE, token);
  const result = text === null ? null : sealedAnswer.safeParse(JSON.parse(text));
  // The error does not reveal whether a token is another client's.
  if (!result?.success || result.data.path !== path || result.data.client !== client) {
    throw badRequest('`resume.token` is not valid here.', 'resume.token', 'invalid_value');
  }
  if (result.data.expires < Date.now()) {
    throw badRequest('`resume.token` is too old.', 'resume.token', 'invalid_value');
  }
  return result.data;
}

/** Replicas that agree in it generate the same tokens. */
function describe({ id, details }: AnsweringModel): string {
  if (details === undefined) return id;
  return `${id} (${details.family}, ${details.numParameters} parameters, ${details.precision})`;
}

function adapterOf({ id: name, adapter }: AnsweringModel): AnsweringAdapter | null {
  return adapter ? { name, id: adapter.id, scale: adapter.scale } : null;
}

function digestOf({ prompts }: FanOutRequest): string {
  const hash = createHash('sha256');
  for (const { promptTokenIds } of prompts) hash.update(promptTokenIds).update('|');
  return hash.digest('base64url');
}

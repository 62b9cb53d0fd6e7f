/** Traffic of one of two keys on a server that both use: ordinary work, and looking for the other's. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from './client.ts';

/** Things that the other key could find, kept up to date by their owner. */
export interface Belongings {
  readonly responseIds: string[];
  /** Ids of items, of its own choice. */
  readonly itemIds: string[];
  /** A prompt that only it has. */
  readonly prompt: string;
}

export interface Tally {
  /** Tokens of its prompts and of the answers to them, by which places are shared out. */
  tokens: number;
  /** Requests that were served. */
  served: number;
  refused: number;
  /** Things it saw of the other's, in words. */
  readonly leaks: string[];
  /** Times it looked for something of the other's. */
  looks: number;
}

interface Answer {
  readonly id: string;
  readonly usage?: {
    readonly total_tokens?: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number };
  };
}

const TOKENS = 32;
/** Whoever is refused comes again after this. */
const RETRY_AFTER_MS = 100;

/** In each of the victim's and the attacker's prompts, long enough for blocks of the cache. */
export const secretOf = (name: string): string => `The password of ${name} is swordfish-${name}. `;

export function belongingsOf(name: string): Belongings {
  return { responseIds: [], itemIds: [], prompt: secretOf(name).repeat(20) };
}

/** Works and looks, `lanes` requests at a time, until `signal` aborts. */
export async function traffic(
  client: Client,
  name: string,
  mine: Belongings,
  others: Belongings,
  lanes: number,
  signal: AbortSignal,
): Promise<Tally> {
  const tally: Tally = { tokens: 0, served: 0, refused: 0, leaks: [], looks: 0 };
  const visitor = new Visitor(client, name, mine, others, tally);
  const lane = async (offset: number): Promise<void> => {
    for (let turn = offset; !signal.aborted; turn++) await visitor.act(turn);
  };
  await Promise.all(Array.from({ length: lanes }, (_, index) => lane(index)));
  return tally;
}

class Visitor {
  readonly #client: Client;
  readonly #name: string;
  readonly #mine: Belongings;
  readonly #others: Belongings;
  readonly #tally: Tally;
  #isLooking = false;
  #hasLooked = false;

  constructor(client: Client, name: string, mine: Belongings, others: Belongings, tally: Tally) {
    this.#client = client;
    this.#name = name;
    this.#mine = mine;
    this.#others = others;
    this.#tally = tally;
  }

  async act(turn: number): Promise<void> {
    const acts = [
      () => this.#complete(),
      () => this.#respond(turn),
      () => this.#chat(),
      () => this.#readOthers(turn),
      () => this.#useOthers(turn),
    ];
    await acts[turn % acts.length]?.();
    if (turn % 7 === 0) await this.#lookIntoCache();
  }

  async #complete(): Promise<void> {
    await this.#serve('/v1/completions', { prompt: this.#mine.prompt, max_tokens: TOKENS });
  }

  async #chat(): Promise<void> {
    const messages = [{ role: 'user', content: 'Tell me a story about a fox.' }];
    await this.#serve('/v1/chat/completions', { messages, max_tokens: TOKENS });
  }

  /** Both keys choose the same ids for their items. */
  async #respond(turn: number): Promise<void> {
    const id = `msg_${turn % 50}`;
    const input = [{ type: 'message', id, role: 'user', content: secretOf(this.#name) }];
    const answer = await this.#serve('/v1/responses', { input, max_output_tokens: TOKENS });
    if (answer === null) return;
    this.#mine.responseIds.push(answer.id);
    this.#mine.itemIds.push(id);
  }

  async #readOthers(turn: number): Promise<void> {
    const id = this.#others.responseIds.at(-1);
    if (id === undefined) return;
    const ways = [
      ['GET', `/v1/responses/${id}`],
      ['GET', `/v1/responses/${id}/input_items`],
      ['POST', `/v1/responses/${id}/cancel`],
      ['DELETE', `/v1/responses/${id}`],
    ] as const;
    const [method, path] = ways[turn % ways.length] ?? ways[0];
    await this.#look(path, { method });
  }

  async #useOthers(turn: number): Promise<void> {
    const id = this.#others.responseIds.at(-1);
    const item = this.#others.itemIds.at(-1);
    if (id === undefined || item === undefined) return;
    const asked = { max_output_tokens: 1 };
    if (turn % 2 === 0) {
      const body = { ...asked, input: 'And?', previous_response_id: id };
      await this.#look('/v1/responses', { body });
      return;
    }
    // It may have an item of this id itself; what it must not get is the other's.
    const body = { ...asked, input: [{ type: 'item_reference', id: item }], background: false };
    const answer = await this.#client.try('/v1/responses', { body });
    this.#tally.looks++;
    if (answer?.status !== 200) return;
    const { id: made } = this.#count(answer.text);
    const items = await this.#client.try(`/v1/responses/${made}/input_items`);
    this.#note(items?.text ?? '', 'an item');
  }

  /** Whether the other's prompt is in the cache: by its tokens that are found there. */
  async #lookIntoCache(): Promise<void> {
    // Two looks at once: one would find what the other has computed so far.
    if (this.#isLooking) return;
    this.#isLooking = true;
    await this.#lookOnce();
    this.#isLooking = false;
  }

  async #lookOnce(): Promise<void> {
    const body = { prompt: this.#others.prompt, max_tokens: 1 };
    const answer = await this.#client.try('/v1/completions', { body });
    this.#tally.looks++;
    if (answer?.status !== 200) return;
    const { usage } = this.#count(answer.text);
    // It has asked for this itself before, and finds that; the first time it must find nothing.
    const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0;
    if (!this.#hasLooked && cached > 0) {
      this.#tally.leaks.push(`${cached} tokens of the other's prompt are cached`);
    }
    this.#hasLooked = true;
  }

  async #look(path: string, options: { readonly method?: string; readonly body?: object }) {
    const answer = await this.#client.try(path, options);
    this.#tally.looks++;
    if (answer === null) return;
    this.#note(answer.text, path);
    const isFound = answer.status < 400;
    if (isFound) this.#tally.leaks.push(`${options.method ?? 'POST'} ${path}: ${answer.status}`);
  }

  #note(text: string, where: string): void {
    const isOthers = text.includes('swordfish') && !text.includes(secretOf(this.#name).trim());
    if (isOthers) this.#tally.leaks.push(`${where} has the other's words: ${text.slice(0, 100)}`);
  }

  async #serve(path: string, body: object): Promise<Answer | null> {
    const answer = await this.#client.try(path, { body });
    if (answer?.status !== 200) {
      this.#tally.refused++;
      await sleep(RETRY_AFTER_MS);
      return null;
    }
    this.#tally.served++;
    return this.#count(answer.text);
  }

  #count(text: string): Answer {
    const answer = JSON.parse(text) as Answer;
    this.#tally.tokens += answer.usage?.total_tokens ?? 0;
    return answer;
  }
}

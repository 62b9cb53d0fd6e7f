/** Stories over one WebSocket after the other, as a client does it that knows the protocol. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { z } from 'zod';

const frameSchema = z.looseObject({
  type: z.string().optional(),
  error: z.looseObject({ message: z.string() }).optional(),
  event_id: z.string().optional(),
  resume_token: z.string().optional(),
  choices: z.array(z.object({ text: z.string() })).optional(),
});

/** Most times in a row that a socket may break without a word. */
const ATTEMPTS = 20;
const PAUSE_MS = 250;

export class SocketTeller {
  readonly #url: string;
  readonly #resumes: boolean;
  #socket: WebSocket | undefined;
  numOpened = 0;
  numResumed = 0;

  /** @param resumes goes on with an answer whose socket broke, instead of failing */
  constructor(url: string, resumes: boolean) {
    this.#url = url;
    this.#resumes = resumes;
  }

  /** @throws Error when an answer breaks, or no socket opens */
  async tell(story: object): Promise<string> {
    let text = '';
    let token: string | undefined;
    let numTokens = 0;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const resume = token === undefined ? {} : { resume: { token, counts: [numTokens] } };
      const got = await this.#ask({ ...story, ...resume }).catch(() => null);
      if (got !== null) {
        if (got.error !== undefined) throw new Error(got.error);
        text += got.text;
        token ??= got.token;
        numTokens = got.numTokens ?? numTokens;
        if (got.isWhole) return text;
        // A socket that closes before an answer has begun took nothing.
        if (text !== '' && !this.#resumes) throw new Error('the socket closed within an answer');
        if (text !== '') this.numResumed++;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    throw new Error('no socket opens');
  }

  async #open(): Promise<WebSocket> {
    if (this.#socket?.readyState === WebSocket.OPEN) return this.#socket;
    const socket = new WebSocket(this.#url);
    socket.on('error', () => {});
    await Promise.race([once(socket, 'open'), once(socket, 'close').then(() => Promise.reject())]);
    this.numOpened++;
    this.#socket = socket;
    return socket;
  }

  /** Asks for a story. @returns what came until the answer was whole or the socket closed */
  async #ask(story: object): Promise<Told> {
    const socket = await this.#open();
    return new Promise((resolve) => {
      const told: Told = { text: '', isWhole: false };
      let pending = '';
      const end = () => {
        socket.off('message', read).off('close', end);
        resolve(told);
      };
      const read = (data: Buffer) => {
        const frame = frameSchema.parse(JSON.parse(data.toString()));
        told.token ??= frame.resume_token;
        pending += frame.choices?.[0]?.text ?? '';
        // Those before the next id are sent again to who goes on.
        if (!this.#resumes || frame.event_id !== undefined || frame.type === 'done') {
          told.text += pending;
          pending = '';
        }
        const count = /^\d+/.exec(frame.event_id ?? '')?.[0];
        if (count !== undefined) told.numTokens = Number(count);
        if (frame.error !== undefined) told.error = frame.error.message;
        told.isWhole = frame.type === 'done';
        if (told.isWhole || told.error !== undefined) end();
      };
      socket.on('message', read).on('close', end);
      socket.send(JSON.stringify({ ...story, stream: true, request_id: 'story' }));
    });
  }
}

interface Told {
  text: string;
  isWhole: boolean;
  token?: string | undefined;
  /** Tokens up to the last event with an id. */
  numTokens?: number;
  error?: string;
}

/**
 * Encrypts thoughts and summaries of a model for clients that have the server store nothing: they send
 * them back with their next request, so that its prompt is as it was. Only this server, or replicas with
 * the same key, can read them.
 */
import { randomBytes } from 'node:crypto';
import { ResumeKey } from '../resume/resume-key.ts';

/** Opens what this process sealed, where no key was given. */
const OWN_KEY = new ResumeKey(randomBytes(32).toString('hex'));

/** Texts of a client that only this server, or its replicas, can open. */
export interface ClientTexts {
  readonly thoughts: SealedTexts;
  readonly summaries: SealedTexts;
}

/** @param key that replicas share; this process' own if left out */
export function sealedTextsOf(client: string, key: ResumeKey | null = null): ClientTexts {
  return {
    thoughts: new SealedTexts(key, client, 'thoughts'),
    summaries: new SealedTexts(key, client, 'summary'),
  };
}

export class SealedTexts {
  readonly #key: ResumeKey;
  readonly #use: string;

  /** @param client whose texts they are; no other can open them */
  constructor(key: ResumeKey | null, client: string, kind: 'thoughts' | 'summary') {
    this.#key = key ?? OWN_KEY;
    this.#use = `${kind} of ${client}`;
  }

  seal(text: string): string {
    return this.#key.seal(this.#use, text);
  }

  /** @returns null for what was sealed elsewhere */
  open(sealed: string): string | null {
    return this.#key.open(this.#use, sealed);
  }
}

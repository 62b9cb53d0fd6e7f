/**
 * What a model thought or summed up, for clients that have the server keep nothing: they send it back with their next
 * request, and the prompt is what it was. Nobody reads it but this server, or replicas with the same key.
 */
import { randomBytes } from 'node:crypto';
import { ResumeKey } from '../resume/resume-key.ts';

/** Opens what this process sealed, where no key was given. */
const OWN_KEY = new ResumeKey(randomBytes(32).toString('hex'));

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

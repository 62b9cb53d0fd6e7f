/** The share of a request in an answer that equal requests share. */

/** The part of a run that one request pays. */
export interface SharedPart {
  /** Whether the run was started for this request, which then pays its prompt. */
  readonly isOwn: boolean;
  /** Output tokens so far that this request pays. */
  chargedTokens(): number;
}

/** Tokens that one request pays: all that it reads, unless a stage says that others have a part in it. */
export class Charge {
  #shared: SharedPart | null = null;
  /** Output tokens that were read. */
  outputTokens = 0;

  share(part: SharedPart): void {
    this.#shared = part;
  }

  /** Whether it was computed for this request. */
  get isOwn(): boolean {
    return this.#shared?.isOwn ?? true;
  }

  /** Output tokens to pay. */
  get chargedTokens(): number {
    return this.#shared?.chargedTokens() ?? this.outputTokens;
  }
}

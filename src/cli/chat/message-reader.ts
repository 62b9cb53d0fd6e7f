const FENCE = '"""';

export interface TypedMessage {
  readonly text: string;
  /** It stood between `"""`, and is no command whatever it says. */
  readonly isQuoted: boolean;
}

/** Makes messages of lines: each is one, but for those between `"""`. */
export class MessageReader {
  /** Null outside of a message of several lines. */
  #open: string[] | null = null;

  get isOpen(): boolean {
    return this.#open !== null;
  }

  /** @returns null while the message goes on */
  push(line: string): TypedMessage | null {
    if (this.#open === null) {
      if (!line.startsWith(FENCE)) return { text: line, isQuoted: false };
      this.#open = [];
      return this.#add(line.slice(FENCE.length));
    }
    return this.#add(line);
  }

  /** Forgets a message that was begun. */
  reset(): void {
    this.#open = null;
  }

  #add(line: string): TypedMessage | null {
    const isLast = line.trimEnd().endsWith(FENCE);
    const text = isLast ? line.trimEnd().slice(0, -FENCE.length) : line;
    const lines = [...(this.#open ?? []), text];
    this.#open = isLast ? null : lines;
    return isLast ? { text: lines.join('\n').trim(), isQuoted: true } : null;
  }
}

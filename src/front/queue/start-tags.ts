/**
 * Start-time fair queueing (Goyal, Vin, Cheng: "Start-time fair queuing: a scheduling algorithm for
 * integrated services packet switching networks", SIGCOMM '96): an entry's start tag is the virtual
 * time at which it would start if every client had its share. Whoever has the lowest goes first.
 */
export class StartTags {
  /** Virtual time at which a client's last entry would end. */
  readonly #finishTags = new Map<string, number>();
  /** The start tag of the entry that left last. */
  #virtualTime = 0;

  /** @returns the start tag of a new entry. @param cost of serving it */
  enter(client: string, cost: number): number {
    const startTag = Math.max(this.#virtualTime, this.#finishTags.get(client) ?? 0);
    this.#finishTags.set(client, startTag + cost);
    return startTag;
  }

  /** An entry is served. */
  serve(startTag: number): void {
    this.#virtualTime = Math.max(this.#virtualTime, startTag);
  }

  /** A client whose share is not overdrawn is like one never seen. @param waiting those that wait */
  forgetIdle(waiting: ReadonlySet<string | undefined>): void {
    for (const [client, finishTag] of this.#finishTags) {
      if (finishTag <= this.#virtualTime && !waiting.has(client)) this.#finishTags.delete(client);
    }
  }
}

/** Cuts a byte stream of server-sent events into their data, wherever it was split on the way. */
export class SseParser {
  readonly #decoder = new TextDecoder();
  #rest = '';
  #data: string[] = [];

  /** Takes the next bytes; returns the data of every event that they complete. */
  push(bytes: Uint8Array): string[] {
    const events: string[] = [];
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line === '') this.#finishEvent(events);
      else if (line.startsWith('data:')) {
        this.#data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
      }
    }
    return events;
  }

  #finishEvent(events: string[]): void {
    if (this.#data.length > 0) events.push(this.#data.join('\n'));
    this.#data = [];
  }
}

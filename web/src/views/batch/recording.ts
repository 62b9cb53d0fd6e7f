/** Recordings: the events of a stream, one on each line. */
import type { BatchEvent } from './step-events.ts';

/** Characters of a recording; then it ends. */
const MAX_CHARACTERS = 64 * 2 ** 20;
const TYPES = new Set(['start', 'engine', 'request', 'step', 'queue', 'lost']);

/** A recording that is being made. */
export class Recording {
  readonly #lines: string[] = [];
  #numCharacters = 0;

  /** @param first what those need to know who see nothing else */
  constructor(first: readonly BatchEvent[]) {
    for (const event of first) this.add(event);
  }

  /** Then nothing more is added. */
  get isFull(): boolean {
    return this.#numCharacters > MAX_CHARACTERS;
  }

  add(event: BatchEvent): void {
    if (this.isFull) return;
    const line = `${JSON.stringify(event)}\n`;
    this.#lines.push(line);
    this.#numCharacters += line.length;
  }

  toBlob(): Blob {
    return new Blob(this.#lines, { type: 'application/x-ndjson' });
  }
}

/** @throws Error saying what is wrong with the file */
export function parseRecording(text: string): BatchEvent[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const events = lines.map((line, index) => parseLine(line, index + 1));
  if (events[0]?.type !== 'start') throw new Error('It is no recording of a batch.');
  if (events[0].version !== 1) throw new Error(`It is of version ${events[0].version as number}.`);
  if (!events.some(({ type }) => type === 'step')) throw new Error('There is no step in it.');
  return events;
}

function parseLine(line: string, number: number): BatchEvent {
  try {
    const event = JSON.parse(line) as BatchEvent;
    if (TYPES.has(event.type)) return event;
  } catch {
    // Told below.
  }
  throw new Error(`Line ${number} is no event of a batch.`);
}

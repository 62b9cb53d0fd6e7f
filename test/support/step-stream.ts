/** Reads /admin/steps. */
import { createParser } from 'eventsource-parser';
import { type StepsEvent, stepsEvent, type StepsEventOf } from '../../src/server/schemas/steps.ts';
import { until } from './processes.ts';

export class StepStream {
  readonly events: StepsEvent[] = [];
  readonly #left = new AbortController();

  /** @param search such as `?every=2` */
  static async open(url: string, search = '', headers: Record<string, string> = {}) {
    const stream = new StepStream();
    const { signal } = stream.#left;
    const response = await fetch(`${url}/admin/steps${search}`, { signal, headers });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    stream.#read(response).catch(() => {});
    return stream;
  }

  /** Those of a type, in order. */
  of<Type extends StepsEvent['type']>(type: Type): StepsEventOf<Type>[] {
    return this.events.filter((event): event is StepsEventOf<Type> => event.type === type);
  }

  async until(isDone: (stream: this) => boolean, what: string): Promise<void> {
    await until(() => isDone(this), what);
  }

  leave(): void {
    this.#left.abort();
  }

  async #read({ body }: Response): Promise<void> {
    // Strict: an event that is not as documented fails the test.
    const onEvent = ({ data }: { data: string }) =>
      void this.events.push(stepsEvent.parse(JSON.parse(data)));
    const parser = createParser({ onEvent });
    const decoder = new TextDecoder();
    for await (const bytes of body ?? []) parser.feed(decoder.decode(bytes, { stream: true }));
  }
}

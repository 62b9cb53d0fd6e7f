/** Messages as a tree: an edited question and another answer are branches of it. */
import { type Message, ROOT } from './types.ts';

type Chosen = Readonly<Record<string, string>>;

export class MessageTree {
  readonly #messages = new Map<string, Message>();
  /** In the order in which they were made. */
  readonly #children = new Map<string, string[]>();

  constructor(messages: Iterable<Message> = []) {
    for (const message of messages) this.set(message);
  }

  get size(): number {
    return this.#messages.size;
  }

  get(id: string): Message | undefined {
    return this.#messages.get(id);
  }

  all(): IterableIterator<Message> {
    return this.#messages.values();
  }

  /** Adds a message, or replaces the one with its id. */
  set(message: Message): void {
    if (!this.#messages.has(message.id)) {
      const key = message.parentId ?? ROOT;
      const siblings = this.#children.get(key);
      if (siblings === undefined) this.#children.set(key, [message.id]);
      else siblings.push(message.id);
    }
    this.#messages.set(message.id, message);
  }

  childrenOf(id: string | null): Message[] {
    const ids = this.#children.get(id ?? ROOT) ?? [];
    return ids.flatMap((child) => this.#messages.get(child) ?? []);
  }

  /** From the first message to the last, along the chosen branches; the newest where none is chosen. */
  path(chosen: Chosen): Message[] {
    const path: Message[] = [];
    for (let key = ROOT; ;) {
      const ids = this.#children.get(key) ?? [];
      const wanted = chosen[key];
      const id = wanted !== undefined && ids.includes(wanted) ? wanted : ids.at(-1);
      const message = id === undefined ? undefined : this.#messages.get(id);
      if (message === undefined) return path;
      path.push(message);
      key = message.id;
    }
  }

  /** From the first message to this one. */
  pathTo(id: string | null): Message[] {
    const path: Message[] = [];
    for (let next = id; next !== null;) {
      const message = this.#messages.get(next);
      if (message === undefined) break;
      path.push(message);
      next = message.parentId;
    }
    return path.toReversed();
  }

  /** Messages in the same place: each one, or those side by side with it as one. */
  versionsOf({ parentId }: Message): Message[][] {
    const versions = new Map<string, Message[]>();
    for (const sibling of this.childrenOf(parentId)) {
      const key = sibling.group ?? sibling.id;
      const version = versions.get(key);
      if (version === undefined) versions.set(key, [sibling]);
      else version.push(sibling);
    }
    return [...versions.values()];
  }
}

/** Calls of custom tools in a stream of a chat. */
import type { StreamedPart } from '../../front/chat/chat-delta.ts';
import { textOfArguments } from '../../front/chat/custom-tools.ts';

/** As a chunk tells it. */
export type ToldPart =
  | StreamedPart
  | { readonly type: 'custom'; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'input'; readonly index: number; readonly text: string };

/** A call's text is told as a whole: it is known once its JSON has ended. */
export class CustomCalls {
  readonly #names: ReadonlySet<string>;
  /** By choice: the call that is being written. */
  readonly #open = new Map<number, { readonly index: number; json: string }>();

  constructor(names: ReadonlySet<string>) {
    this.#names = names;
  }

  push(choice: number, parts: readonly StreamedPart[], isLast: boolean): readonly ToldPart[] {
    if (this.#names.size === 0) return parts;
    const told = parts.flatMap((part) => this.#add(choice, part));
    return isLast ? [...told, ...this.#close(choice)] : told;
  }

  #add(choice: number, part: StreamedPart): ToldPart[] {
    const open = this.#open.get(choice);
    if (part.type === 'arguments' && part.index === open?.index) {
      open.json += part.text;
      return [];
    }
    const closed = this.#close(choice);
    if (part.type !== 'call' || !this.#names.has(part.name)) return [...closed, part];
    this.#open.set(choice, { index: part.index, json: '' });
    return [...closed, { ...part, type: 'custom' }];
  }

  #close(choice: number): ToldPart[] {
    const open = this.#open.get(choice);
    if (open === undefined) return [];
    this.#open.delete(choice);
    return [{ type: 'input', index: open.index, text: textOfArguments(open.json) }];
  }
}

/** A slot in an iteration. */

export const WORK = ['prefill', 'decode', 'verify', 'grammar', 'held', 'failed', 'kept'] as const;
export type Work = (typeof WORK)[number];

export interface Cell {
  readonly slot: number;
  /** 0 for a text that is kept. */
  readonly request: number;
  readonly work: Work;
  /** Position of the first token that was computed. */
  readonly start: number;
  readonly computed: number;
  readonly sampled: number;
  readonly pages: number;
  /** Tokens found in the cache when the request got its slot, in this iteration. */
  readonly cached: number;
  readonly drafted: number;
  readonly accepted: number;
}

/** @param numbers as they come; zeros at the end may be missing */
export function toCell(numbers: readonly number[]): Cell {
  const [slot = 0, request = 0, work = 0, start = 0, computed = 0, sampled = 0] = numbers;
  const [pages = 0, cached = 0, drafted = 0, accepted = 0] = numbers.slice(6);
  const name = WORK[work] ?? 'held';
  return { slot, request, work: name, start, computed, sampled, pages, cached, drafted, accepted };
}

const plural = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

/** In words, without the slot and the request. */
export function describeCell(cell: Cell): string {
  const { work, start, computed, sampled, cached, drafted, accepted } = cell;
  const found = cached > 0 ? `${plural(cached, 'token')} found in the cache; ` : '';
  switch (work) {
    case 'prefill':
      return `${found}prefill of ${plural(computed, 'token')} from position ${start}`;
    case 'decode':
      return `${found}decode at position ${start}`;
    case 'verify':
      return `draft of ${drafted} at position ${start}: ${accepted} accepted, ${plural(sampled, 'token')} written`;
    case 'grammar':
      return `${found}waits for its grammar at position ${start + computed}`;
    case 'held':
      return `${found}has its slot and no part in this step, at position ${start}`;
    case 'failed':
      return `failed at position ${start}`;
    case 'kept':
      return `kept: the text of an ended request, ${plural(computed, 'token')}`;
  }
}

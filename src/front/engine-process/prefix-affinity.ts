import { createHash } from 'node:crypto';
import type { EngineRequest } from '../../engine/request.ts';

/** Tokens of a prompt that tell whose cache may have it: blocks of the prefix cache are shorter. */
const PREFIX_TOKENS = 64;
/** Prefixes that are remembered. */
const MAX_PREFIXES = 4096;

/** Remembers which instance has computed a prompt that began alike, and may have it in its cache. */
export class PrefixAffinity<Instance> {
  /** The least recently used comes first. */
  readonly #instances = new Map<string, Instance>();

  find(request: Pick<EngineRequest, 'promptTokenIds' | 'cacheSalt'>): Instance | undefined {
    return this.#instances.get(keyOf(request));
  }

  remember(request: Pick<EngineRequest, 'promptTokenIds' | 'cacheSalt'>, instance: Instance): void {
    const key = keyOf(request);
    this.#instances.delete(key);
    this.#instances.set(key, instance);
    if (this.#instances.size <= MAX_PREFIXES) return;
    const [oldest] = this.#instances.keys();
    if (oldest !== undefined) this.#instances.delete(oldest);
  }
}

function keyOf({
  promptTokenIds,
  cacheSalt,
}: Pick<EngineRequest, 'promptTokenIds' | 'cacheSalt'>): string {
  return createHash('sha256')
    .update(promptTokenIds.subarray(0, PREFIX_TOKENS))
    .update(cacheSalt)
    .digest('base64');
}

import {
  forEachToken,
  type StepMessage,
  type TokenDetails,
} from '../../engine/process/step-message.ts';
import { failureOf } from './engine-contract.ts';
import { SlowReaderError } from './errors.ts';
import type { LiveRequests } from './live-requests.ts';
import type { SupervisedProcess } from './supervised-process.ts';
import type { TokenStream } from './token-stream.ts';

type Progress = Pick<SupervisedProcess<never, never>, 'progressed'>;

/** Gives the tokens of each step to the streams of their requests. */
export class StepDelivery {
  readonly #live: LiveRequests;
  readonly #process: Progress;
  /** Streams that have tokens of the step at hand. */
  readonly #fed = new Set<TokenStream>();

  /** @param process told of each token: the process does its work */
  constructor(live: LiveRequests, process: Progress) {
    this.#live = live;
    this.#process = process;
  }

  deliver(message: StepMessage): void {
    forEachToken(message, this.#deliverToken);
    // All tokens of the step are there.
    for (const stream of this.#fed) stream.flush();
    this.#fed.clear();
  }

  readonly #deliverToken = (id: number, tokenId: number, details: TokenDetails | null): void => {
    const live = this.#live.get(id);
    // Aborted while its last step ran.
    if (!live) return;
    if (details !== null && details.finishReason !== null) this.#live.delete(id);
    if (details?.finishReason === 'error') {
      live.stream.fail(failureOf(details));
      return;
    }
    this.#process.progressed();
    this.#live.progressed(live, tokenId);
    this.#fed.add(live.stream);
    if (!live.stream.push(tokenId, details)) live.stream.abort(new SlowReaderError());
  };
}

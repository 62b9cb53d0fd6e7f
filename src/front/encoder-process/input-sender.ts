import type { EncoderCommand, EncoderInput } from '../../encoder/process/protocol.ts';
import { inParts } from '../../encoder/process/tensor-parts.ts';

interface Receiver {
  send(command: EncoderCommand): void;
}

/** Sends a batch's inputs to a process; large ones in parts, each when the one before was taken. */
export class InputSender {
  readonly #process: Receiver | undefined;
  #hasEnded = false;
  #goOn = (): void => {};

  constructor(process: Receiver | undefined) {
    this.#process = process;
  }

  async send(id: number, inputs: readonly EncoderInput[]): Promise<void> {
    const to = this.#process;
    const parted = inParts(inputs.map((each) => (each.type === 'tensors' ? each.tensors : [])));
    if (parted === null) {
      to?.send({ type: 'run', id, inputs, lists: null });
      return;
    }
    for (const part of parted.parts) {
      const taken = new Promise<void>((resolve) => (this.#goOn = resolve));
      to?.send({ type: 'part', part });
      await taken;
      if (this.#hasEnded) return;
    }
    const heads = inputs.map((each) => (each.type === 'tensors' ? { ...each, tensors: [] } : each));
    to?.send({ type: 'run', id, inputs: heads, lists: parted.lists });
  }

  /** The process has taken a part. */
  more(): void {
    this.#goOn();
  }

  /** The process has ended: what it did not get is dropped. */
  stop(): void {
    this.#hasEnded = true;
    this.#goOn();
  }
}

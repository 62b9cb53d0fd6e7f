import { IoBinding } from '../ort/io-binding.ts';
import type { Session } from '../ort/session.ts';
import { Tensor } from '../ort/tensor.ts';
import { kvNames, type KvStorage } from './kv-storage.ts';
import type { LogitsBuffer } from './logits-buffer.ts';

/** Which logits a run gives, and where they go. */
export interface WantedLogits {
  /** Positions of each row, from its first token on. */
  readonly perRow: number;
  /** Row of the logits buffer that the first one goes to; the others follow. */
  readonly logitsRow: number;
}

/**
 * A range of KV cache rows bound to the decoder graph once, to be run many times: a step only
 * rewrites the contents of a few small arrays.
 *
 * The cache's tensors are bound as `past_key_values.*` and as `present.*`: GroupQueryAttention
 * sees that both are the same memory and appends in place.
 */
export class RowBinding {
  /** [rows] positions before this run's tokens, plus its tokens, minus 1. */
  readonly seqlensK: Int32Array<ArrayBuffer>;
  /** [rows x perRow, 2] the places whose logits are wanted: row, and which of its tokens. */
  readonly #logitsIndex: BigInt64Array<ArrayBuffer>;
  readonly #totalSequenceLength = new Int32Array(1);
  readonly #binding: IoBinding;
  readonly #tensors: Tensor[];
  readonly #numRows: number;
  #inputIds: { data: BigInt64Array; tensor: Tensor } | undefined;

  /** @param wanted the first token of each row if left out, in the row of the same number */
  constructor(
    session: Session,
    storage: KvStorage,
    logits: LogitsBuffer,
    firstRow: number,
    numRows: number,
    { perRow, logitsRow }: WantedLogits = { perRow: 1, logitsRow: firstRow },
  ) {
    this.#numRows = numRows;
    const numWanted = numRows * perRow;
    this.seqlensK = new Int32Array(numRows);
    this.#logitsIndex = new BigInt64Array(numWanted * 2);
    for (let index = 0; index < numWanted; index++) {
      this.#logitsIndex[index * 2] = BigInt(Math.floor(index / perRow));
      this.#logitsIndex[index * 2 + 1] = BigInt(index % perRow);
    }
    const kv = storage.view(firstRow, numRows);
    const seqlensK = Tensor.over('int32', [numRows], this.seqlensK);
    const total = Tensor.over('int32', [], this.#totalSequenceLength);
    const logitsIndex = Tensor.over('int64', [numWanted, 2], this.#logitsIndex);
    const logitsOut = logits.tensor(logitsRow, numWanted);
    this.#tensors = [...kv, seqlensK, total, logitsIndex, logitsOut];

    this.#binding = new IoBinding(session);
    this.#binding.bindInput('seqlens_k', seqlensK);
    this.#binding.bindInput('total_sequence_length', total);
    this.#binding.bindInput('logits_index', logitsIndex);
    this.#binding.bindOutput('logits', logitsOut);
    const pastNames = kvNames('past_key_values', storage.shape.numLayers);
    const presentNames = kvNames('present', storage.shape.numLayers);
    for (const [index, tensor] of kv.entries()) {
      this.#binding.bindInput(pastNames[index] ?? '', tensor);
      this.#binding.bindOutput(presentNames[index] ?? '', tensor);
    }
  }

  /** Which token of a row feeds the LM head, where only one does. */
  wantLogits(row: number, token: number): void {
    this.#logitsIndex[row * 2 + 1] = BigInt(token);
  }

  /**
   * The array [rows x tokensPerRow] to write the next run's token ids to. Asking for another width
   * than the last run's rebinds that one input.
   */
  inputIds(tokensPerRow: number): BigInt64Array {
    const length = this.#numRows * tokensPerRow;
    if (this.#inputIds?.data.length === length) return this.#inputIds.data;
    const data = new BigInt64Array(length);
    const tensor = Tensor.over('int64', [this.#numRows, tokensPerRow], data);
    this.#binding.bindInput('input_ids', tensor);
    this.#inputIds?.tensor.release();
    this.#inputIds = { data, tensor };
    return data;
  }

  /** @throws OrtError when the run fails; the cache then holds what it held, in valid positions */
  run(session: Session): void {
    this.#totalSequenceLength[0] = this.seqlensK.reduce((max, last) => Math.max(max, last), 0) + 1;
    session.run(this.#binding);
  }

  release(): void {
    this.#binding.release();
    this.#inputIds?.tensor.release();
    for (const tensor of this.#tensors) tensor.release();
  }
}

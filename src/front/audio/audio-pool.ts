import { AUDIO_LIMITS } from '../../audio-limits.ts';
import { AudioError } from '../../audio/audio-error.ts';
import type { Samples } from '../../audio/decode.ts';
import type { WindowSize } from '../../audio/log-mel.ts';
import { ProcessPool } from '../../threads/process-pool.ts';
import type { Caller } from '../caller.ts';
import { ClientBudget } from '../images/client-budget.ts';
import { FairPool, TaskTooCostlyError } from '../prompts/fair-pool.ts';
import type { AudioAnswer, AudioJob } from './audio-job.ts';
import { Recording } from './recording.ts';

/** Milliseconds after which a process without sound is ended. */
const IDLE_MS = 60_000;

const ENTRY = new URL('./audio-process-main.js', import.meta.url);

/** A recording, and what it holds of its client's share until it is closed. */
export interface OpenRecording {
  readonly recording: Recording;
  /** May be called several times. */
  readonly close: () => void;
}

/** Processes that read sound, of all models of a server. They start with the first file. */
export class AudioPool {
  readonly #decoding = newPool(AUDIO_LIMITS.audioProcesses);
  /** Processes of their own: a window takes a moment, and a file may take a minute. */
  readonly #hearing = newPool(1);
  readonly #files = new ClientBudget(AUDIO_LIMITS.audios, AUDIO_LIMITS.clientAudios);
  readonly #bytes = new ClientBudget(
    AUDIO_LIMITS.audioBytesHeld,
    AUDIO_LIMITS.clientAudioBytesHeld,
  );

  /**
   * Decodes a file.
   * @throws AudioError for what is no sound, or is beyond a limit; QueueFullError where the client, or all, hold too
   *   much; TaskError; the signal's reason on abort
   */
  async open(file: Uint8Array, caller: Caller): Promise<OpenRecording> {
    if (file.length > AUDIO_LIMITS.audioBytes) {
      throw new AudioError(`it is larger than the limit of ${AUDIO_LIMITS.audioBytes} bytes`);
    }
    const recording = new Recording();
    const close = this.#hold(caller.client, recording);
    try {
      await this.#decode(file, caller, recording);
      return { recording, close };
    } catch (error) {
      close();
      throw error;
    }
  }

  /**
   * Features of a window.
   * @param samples of a window at most
   * @returns `mels` rows of `frames` numbers
   * @throws TaskError; the signal's reason on abort
   */
  async features(
    samples: Samples,
    { mels, frames }: WindowSize,
    caller: Caller,
  ): Promise<Float32Array<ArrayBuffer>> {
    const answer = await this.#hearing.run({ samples, mels, frames }, caller, 1);
    if (answer.type === 'refused') throw new AudioError(answer.message);
    return answer.features ?? new Float32Array();
  }

  /** Ends the processes; what runs and waits fails. */
  close(): void {
    this.#decoding.close();
    this.#hearing.close();
  }

  async #decode(file: Uint8Array, caller: Caller, recording: Recording): Promise<void> {
    const { client } = caller;
    const full = new AbortController();
    const signal = AbortSignal.any([caller.signal, full.signal]);
    const add = (piece: unknown): void => {
      // The process sends nothing else.
      const samples = piece as Samples;
      if (full.signal.aborted) return;
      try {
        this.#bytes.take(client, samples.byteLength);
        recording.add(samples);
      } catch (error) {
        full.abort(error);
      }
    };
    const clear = (): void => {
      this.#bytes.give(client, recording.bytes);
      recording.clear();
    };
    try {
      const pieces = { onPiece: add, onRestart: clear };
      const answer = await this.#decoding.run({ file }, { ...caller, signal }, file.length, pieces);
      full.signal.throwIfAborted();
      if (answer.type === 'refused') throw new AudioError(answer.message);
    } catch (error) {
      if (error instanceof TaskTooCostlyError) throw new AudioError(`it ${error.message}`);
      throw error;
    }
  }

  /** @returns gives back the place and the bytes of all that was added */
  #hold(client: string, recording: Recording): () => void {
    this.#files.take(client, 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#files.give(client, 1);
      this.#bytes.give(client, recording.bytes);
    };
  }
}

function newPool(processes: number): FairPool<AudioJob, AudioAnswer> {
  return new FairPool({
    entry: ENTRY,
    workerData: null,
    maxThreads: processes,
    heapMb: AUDIO_LIMITS.audioProcessMb,
    deadlineMs: AUDIO_LIMITS.audioMs,
    largeCost: AUDIO_LIMITS.audioBytesInTurn,
    startPool: ({ idleMs = IDLE_MS, heapMb }) =>
      new ProcessPool({ entry: ENTRY, idleMs, maxMb: heapMb }),
  });
}

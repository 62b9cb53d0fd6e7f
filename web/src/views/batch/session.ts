import { signal } from '@preact/signals';
import { notify } from '../../components/notices.tsx';
import { type Connection, watchLive } from './live.ts';
import { parseRecording, Recording } from './recording.ts';
import { Replay } from './replay.ts';
import type { BatchEvent } from './step-events.ts';
import { type Column, Timeline } from './timeline.ts';

/** How often tables and lists follow the picture, in milliseconds: people read them. */
const PANELS_MS = 250;

/** A column, and a lane if one is pointed at. */
export interface Cursor {
  readonly index: number;
  readonly slot: number | null;
}

/** What the view shows: a server's batch as it runs, or a recording. */
export class BatchSession {
  readonly connection = signal<Connection>({ state: 'connecting' });
  readonly replay = signal<Replay | null>(null);
  readonly isPaused = signal(false);
  readonly isRecording = signal(false);
  readonly instance = signal(0);
  readonly model = signal<string | null>(null);
  /** Null is the last column. */
  readonly cursor = signal<Cursor | null>(null);
  /** It was put where it is, and does not follow the pointer. */
  #isPinned = false;
  /** Changes when tables and lists have to be made anew. */
  readonly panels = signal(0);
  #live = new Timeline();
  #recording: Recording | null = null;
  /** By instance, where a paused picture ends. */
  #pausedAt = new Map<number, number>();
  #watching: AbortController | null = null;
  #panelsAt = 0;
  #shown = -1;

  get timeline(): Timeline {
    return this.replay.value?.timeline ?? this.#live;
  }

  /** One more than the index of the last column that is shown. */
  get end(): number {
    const end = this.timeline.endIndex(this.instance.value);
    if (!this.isPaused.value) return end;
    return Math.min(end, this.#pausedAt.get(this.instance.value) ?? end);
  }

  /** What tables and lists are about. */
  get column(): Column | undefined {
    const index = this.cursor.value?.index ?? this.end - 1;
    return this.timeline.columnAt(this.instance.value, index);
  }

  watch(model: string | null): void {
    this.stop();
    this.model.value = model;
    this.#live = new Timeline();
    this.#watching = new AbortController();
    const onEvent = (event: BatchEvent) => this.#receive(event);
    const onConnection = (connection: Connection) => (this.connection.value = connection);
    void watchLive({ model, onEvent, onConnection }, this.#watching.signal);
  }

  stop(): void {
    this.#watching?.abort();
    this.#watching = null;
  }

  /** To be called with each frame. @param ms since the last one */
  frame(ms: number): void {
    this.replay.value?.advance(ms);
    const now = performance.now();
    const shown = this.timeline.version;
    if (this.isPaused.value || shown === this.#shown || now - this.#panelsAt < PANELS_MS) return;
    this.#panelsAt = now;
    this.#shown = shown;
    this.panels.value++;
  }

  pause(isPaused: boolean): void {
    const replay = this.replay.value;
    if (replay !== null) {
      if (isPaused) replay.isPlaying = false;
      else replay.play();
    } else {
      const { timeline } = this;
      this.#pausedAt = new Map(timeline.instances.map((each) => [each, timeline.endIndex(each)]));
      this.isPaused.value = isPaused;
    }
    if (isPaused) this.panels.value++;
    else this.point(null);
  }

  seek(numSteps: number): void {
    this.replay.value?.seek(numSteps);
    this.point(null);
  }

  /** Follows the pointer, unless the cursor was put somewhere. */
  hover(cursor: Cursor | null): void {
    if (this.#isPinned) return;
    this.cursor.value = cursor;
    this.panels.value++;
  }

  /** Puts the cursor where it stays; null lets it go. */
  point(cursor: Cursor | null): void {
    this.#isPinned = cursor !== null;
    this.cursor.value = cursor;
    this.panels.value++;
  }

  record(): void {
    this.#recording = new Recording(this.#live.snapshot());
    this.isRecording.value = true;
  }

  /** Ends a recording. */
  takeRecording(): Blob | null {
    const blob = this.#recording?.toBlob() ?? null;
    this.#recording = null;
    this.isRecording.value = false;
    return blob;
  }

  /** @throws Error saying what is wrong with the file */
  open(text: string): void {
    const replay = new Replay(parseRecording(text));
    replay.seek(1);
    this.isPaused.value = false;
    this.instance.value = replay.timeline.instances[0] ?? 0;
    this.replay.value = replay;
    this.point(null);
  }

  backToLive(): void {
    this.replay.value = null;
    this.instance.value = 0;
    this.point(null);
  }

  #receive(event: BatchEvent): void {
    this.#live.apply(event);
    const wasFull = this.#recording?.isFull ?? true;
    this.#recording?.add(event);
    if (!wasFull && this.#recording?.isFull)
      notify('The recording is full; save what there is.', true);
  }
}

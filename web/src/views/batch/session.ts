import { computed, signal } from '@preact/signals';
import { notify } from '../../components/notices.tsx';
import type { Bar } from './bars.ts';
import { type Connection, watchLive } from './live.ts';
import { parseRecording, Recording } from './recording.ts';
import { Replay } from './replay.ts';
import type { BatchEvent } from './step-events.ts';
import type { Column } from './column.ts';
import { Timeline } from './timeline.ts';
import { MAX_SCALE, MIN_SCALE, type Mode, USUAL_SCALE } from './viewport.ts';

/** How often tables and lists follow the picture, in milliseconds: people read them. */
const PANELS_MS = 250;

/** Without a step for so long, what ran has ended, in milliseconds. */
const QUIET_MS = 700;

/** A column, and a row if one is pointed at. */
export interface Cursor {
  readonly index: number;
  readonly row: number | null;
}

/** Content of the view: a server's batch as it runs, or a recording. */
export class BatchSession {
  readonly connection = signal<Connection>({ state: 'connecting' });
  readonly replay = signal<Replay | null>(null);
  readonly isRecording = signal(false);
  readonly instance = signal(0);
  readonly model = signal<string | null>(null);
  readonly mode = signal<Mode>('requests');
  /** CSS pixels of a millisecond. */
  readonly scale = signal(USUAL_SCALE);
  /** Time at the right edge; null follows what comes. */
  readonly heldAt = signal<number | null>(null);
  /** Null is the last column. */
  readonly cursor = signal<Cursor | null>(null);
  /** Number of the request that is looked at. */
  readonly selected = signal<number | null>(null);
  readonly hovered = signal<number | null>(null);
  readonly search = signal('');
  /** Changes when tables and lists have to be made anew. */
  readonly panels = signal(0);
  /** Requests that stand out. */
  readonly marked = computed((): ReadonlySet<number> => {
    void this.panels.value;
    const found = this.found.map(({ number }) => number);
    const one = this.hovered.value ?? this.selected.value;
    return new Set(found.length > 0 ? found : one === null ? [] : [one]);
  });
  /** Milliseconds that fit into the picture. */
  shownMs = 1000;
  /** The cursor was put where it is, and does not follow the pointer. */
  isPinned = false;
  #live = new Timeline();
  #recording: Recording | null = null;
  #watching: AbortController | null = null;
  #panelsAt = 0;
  #stepAt = 0;
  #isSettled = true;
  #shown = -1;

  get timeline(): Timeline {
    return this.replay.value?.timeline ?? this.#live;
  }

  get isHeld(): boolean {
    return this.heldAt.value !== null;
  }

  /** Whether the picture stands still. */
  get isStill(): boolean {
    return this.isHeld || this.replay.value?.isPlaying === false;
  }

  /** Time at the right edge. */
  get end(): number {
    return this.heldAt.value ?? this.timeline.span(this.instance.value)[1];
  }

  /** Requests that there were at once, at most; or slots of the process. */
  get numRows(): number {
    const { instance, mode, timeline } = this;
    if (mode.value === 'requests') return timeline.bars.numLanes(instance.value);
    return timeline.engines.get(instance.value)?.slots ?? 1;
  }

  /** Step that tables and lists are about. */
  get column(): Column | undefined {
    const { instance, timeline } = this;
    const { value } = this.cursor;
    if (value !== null) return timeline.columnAt(instance.value, value.index);
    return timeline.columnBy(instance.value, this.end);
  }

  /** The request that is looked at, or pointed at. */
  get bar(): Bar | undefined {
    const number = this.hovered.value ?? this.selected.value;
    return number === null ? undefined : this.timeline.bars.byNumber(number);
  }

  /** Bars that the search finds, the newest first. */
  get found(): readonly Bar[] {
    return this.timeline.bars.named(this.instance.value, this.search.value);
  }

  /** Goes on with what it watches already. */
  watch(model: string | null): void {
    if (this.#watching !== null && model === this.model.value) return;
    this.stop();
    if (model !== this.model.value) this.#live = new Timeline();
    this.model.value = model;
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
    this.#settle(now);
    if (this.isHeld || shown === this.#shown || now - this.#panelsAt < PANELS_MS) return;
    this.#panelsAt = now;
    this.#shown = shown;
    this.panels.value++;
  }

  /** Holds the picture where it is. */
  hold(): void {
    const replay = this.replay.value;
    if (replay !== null) replay.isPlaying = false;
    this.heldAt.value ??= this.end;
    this.panels.value++;
  }

  /** Follows what comes, or plays on. */
  resume(): void {
    this.heldAt.value = null;
    this.replay.value?.play();
    this.selected.value = null;
    this.point(null);
  }

  /** Shows another time. @param ms to the right */
  pan(ms: number): void {
    this.hold();
    this.showEnd((this.heldAt.value ?? 0) + ms);
  }

  /** Has a time at the right edge, as far as there is anything. */
  showEnd(time: number): void {
    const [first, last] = this.timeline.span(this.instance.value);
    const least = Math.min(last, first + this.shownMs);
    this.heldAt.value = Math.max(least, Math.min(last, time));
    this.panels.value++;
  }

  /** @param around time that stays where it is; the right edge if left out */
  zoom(factor: number, around = this.end): void {
    const before = this.scale.value;
    const scale = Math.max(MIN_SCALE, Math.min(MAX_SCALE, before * factor));
    this.scale.value = scale;
    this.shownMs *= before / scale;
    if (this.isHeld) this.showEnd(around + ((this.end - around) * before) / scale);
  }

  /** Shows all from one time to another. */
  showSpan(from: number, to: number): void {
    this.hold();
    this.zoom(this.shownMs / Math.max(1, to - from));
    this.showEnd(to);
  }

  /** Shows all that is kept. */
  showAll(): void {
    const [first, last] = this.timeline.span(this.instance.value);
    this.showSpan(first, last);
  }

  /** Shows a request, with some room around it. */
  showBar(bar: Bar): void {
    const room = Math.max(50, (bar.to - bar.from) * 0.15);
    this.selected.value = bar.number;
    if (bar.to - bar.from > this.shownMs) this.showSpan(bar.from - room, bar.to + room);
    else {
      this.hold();
      this.showEnd(Math.max(bar.to + room, bar.from - room + this.shownMs));
    }
  }

  seek(numSteps: number): void {
    this.replay.value?.seek(numSteps);
    this.heldAt.value = null;
    this.point(null);
  }

  /** Follows the pointer, unless the cursor was put somewhere. */
  hover(cursor: Cursor | null, bar: Bar | null = null): void {
    if (this.isPinned) return;
    const { value } = this.cursor;
    const isSame = value?.index === cursor?.index && value?.row === cursor?.row;
    if (isSame && this.hovered.value === (bar?.number ?? null)) return;
    this.cursor.value = cursor;
    this.hovered.value = bar?.number ?? null;
    this.panels.value++;
  }

  /** Puts the cursor where it stays, with the picture as it is; null lets it go. */
  point(cursor: Cursor | null, bar: Bar | null = null): void {
    this.isPinned = cursor !== null;
    if (cursor !== null) this.hold();
    this.cursor.value = cursor;
    this.hovered.value = null;
    this.selected.value = bar?.number ?? null;
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
    this.heldAt.value = null;
    this.instance.value = replay.timeline.instances[0] ?? 0;
    this.replay.value = replay;
    this.point(null);
  }

  backToLive(): void {
    this.replay.value = null;
    this.heldAt.value = null;
    this.instance.value = 0;
    this.point(null);
  }

  /** Steps are all that is heard of requests: of the last ones, that no further step comes. */
  #settle(now: number): void {
    const last = this.#live.columns(this.instance.value).at(-1);
    const quietMs = Math.max(QUIET_MS, 5 * (last?.event.ms ?? 0));
    if (last === undefined || this.#isSettled || now - this.#stepAt < quietMs) return;
    this.#isSettled = true;
    this.#live.settle(last);
  }

  #receive(event: BatchEvent): void {
    this.#live.apply(event);
    if (event.type === 'step') {
      this.#stepAt = performance.now();
      this.#isSettled = false;
    }
    const wasFull = this.#recording?.isFull ?? true;
    this.#recording?.add(event);
    if (!wasFull && this.#recording?.isFull)
      notify('The recording is full; save what there is.', true);
  }
}

/** Outlives the view: a recording goes on while another view is open, and what was seen stays. */
export const batch = new BatchSession();

addEventListener('beforeunload', (event) => {
  if (batch.isRecording.value) event.preventDefault();
});

/**
 * Bounds of a connection of HTTP/2 beyond those that nghttp2 has: frames that carry next to nothing cost
 * as much as those that do.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Place } from '../server/http/connection-places.ts';
import { networkOf } from '../server/http/network-of.ts';
import { SMALL_PIECE_BYTES } from '../server/http/request-body.ts';
import { cut, guarded } from '../guarded.ts';
import { LIMITS } from '../limits.ts';

/** After this much silence the peer is asked whether it is still there. */
const PROBE_MS = 30_000;

/** Milliseconds that a connection without calls stays: longer than load balancers keep theirs. */
const IDLE_MS = 600_000;

/** Bytes of a frame's head. */
const FRAME_HEAD_BYTES = 9;

/** Bytes of a call's head, as far as it is taken for useful. */
const CALL_HEAD_BYTES = 1024;

/** Bytes of a stream that may arrive unread: what HTTP/2 begins with. */
const WINDOW_BYTES = 65_535;

/** How often connections are looked at. */
const LOOK_MS = 250;

interface Watched {
  readonly session: ServerHttp2Session;
  /** Address by which its client is counted. */
  readonly network: string;
  readonly openedAt: number;
  /** Bytes that had arrived when last looked at, and of these the useful ones since then. */
  numRead: number;
  numUseful: number;
  numSmall: number;
  numReset: number;
  readonly calls: Set<ServerHttp2Stream>;
  hasSettings: boolean;
  idleSince: number;
  isProbed: boolean;
  probedAt: number;
}

export class SessionGuard {
  readonly #watched = new Map<ServerHttp2Session, Watched>();
  /** Networks of connections that cost too much, and until when others of theirs wait. */
  readonly #paused = new Map<string, number>();
  readonly #looks: NodeJS.Timeout;

  constructor() {
    this.#looks = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /**
   * Milliseconds that a connection of a network has to wait, since another was closed for what it cost: one
   * that came again at once would cost as much, and leave as much that is not collected yet.
   */
  pauseOf(network: string): number {
    return Math.max(0, (this.#paused.get(network) ?? 0) - performance.now());
  }

  /** @param place of its connection; null if it is closed already */
  add(session: ServerHttp2Session, place: Place | null): void {
    const now = performance.now();
    const watched: Watched = {
      session,
      network: networkOf(session.socket.remoteAddress),
      openedAt: now,
      numRead: 0,
      numUseful: 0,
      numSmall: 0,
      numReset: 0,
      calls: new Set(),
      hasSettings: false,
      idleSince: now,
      isProbed: false,
      probedAt: now,
    };
    this.#watched.set(session, watched);
    // A stream whose requests are not read must not hold back the others.
    session.setLocalWindowSize(LIMITS.requestsPerSocket * WINDOW_BYTES);
    session.once('remoteSettings', () => (watched.hasSettings = true));
    session.once('close', () => this.#watched.delete(session));
    session.on('error', () => {});
    session.on('stream', (stream: ServerHttp2Stream) => {
      watched.numUseful += CALL_HEAD_BYTES;
      watched.calls.add(stream);
      place?.busy();
      const closed = (): void => {
        const isReset = stream.rstCode !== constants.NGHTTP2_NO_ERROR;
        if (isReset && ++watched.numReset > LIMITS.resetCalls) this.#end(watched);
        watched.calls.delete(stream);
        if (watched.calls.size > 0) return;
        watched.idleSince = performance.now();
        place?.idle();
      };
      // A connection whose calls are not counted right would stay.
      stream.once(
        'close',
        guarded(closed, (error) => cut(error, session)),
      );
      // It flows from when its call is begun.
      stream.on('data', (data: Buffer) => this.#count(watched, data.length)).pause();
    });
  }

  /** Lets calls at work go on; no others begin. */
  drain(): void {
    for (const session of this.#watched.keys()) session.close();
  }

  cut(): void {
    for (const session of this.#watched.keys()) session.destroy();
  }

  close(): void {
    clearInterval(this.#looks);
  }

  #count(watched: Watched, numBytes: number): void {
    watched.numUseful += numBytes + FRAME_HEAD_BYTES;
    if (numBytes >= SMALL_PIECE_BYTES) return;
    if (++watched.numSmall > LIMITS.smallFrames) this.#end(watched);
  }

  #look(): void {
    const now = performance.now();
    for (const [network, until] of this.#paused) if (until <= now) this.#paused.delete(network);
    for (const watched of this.#watched.values()) {
      const { session, hasSettings, openedAt, calls, idleSince } = watched;
      if (session.destroyed) continue;
      const numRead = session.socket?.bytesRead ?? 0;
      const numIdle = numRead - watched.numRead - watched.numUseful;
      watched.numRead = numRead;
      watched.numUseful = 0;
      watched.numSmall = 0;
      watched.numReset = 0;
      // Data of a call that is not read for now has arrived, and counts as useful later.
      const numPaused = [...calls].filter((call) => call.isPaused()).length;
      if (numIdle > LIMITS.idleFrameBytes + numPaused * WINDOW_BYTES) this.#end(watched);
      else if (!hasSettings && now - openedAt > LIMITS.headMs) session.destroy();
      else if (calls.size === 0 && now - idleSince > IDLE_MS) session.close();
      else if (now - watched.probedAt > PROBE_MS) this.#probe(watched, now);
    }
  }

  #probe(watched: Watched, now: number): void {
    const { session } = watched;
    watched.probedAt = now;
    if (watched.isProbed) {
      session.destroy();
      return;
    }
    watched.isProbed = true;
    session.ping(() => (watched.isProbed = false));
  }

  /** Closes a connection that costs more than it brings. */
  #end({ session, network }: Watched): void {
    this.#paused.set(network, performance.now() + LIMITS.costlyPauseMs);
    session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }
}

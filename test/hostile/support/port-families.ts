/** Families of attacks on a port that need no request, each by what is said there, and how. */
import type { Port } from './doors.ts';
import { FOREIGN, PROTOCOLS, type Words } from './protocols.ts';

export interface Family {
  /** Each is told over connections of its own. */
  readonly words: (port: Port) => readonly Words[];
  /** Connections for each. */
  readonly count: number;
  /** Pieces that they are told in, of about the same length; as few as there can be if left out. */
  readonly numPieces?: number;
  /** Milliseconds after each piece. */
  readonly pauseMs?: number;
  /** Whether what comes back is read; true if left out. */
  readonly isRead?: boolean;
  /** Milliseconds that connections stay when all is told. */
  readonly stayMs: number;
}

/** Questions of a connection that goes on asking. */
const MANY = 8;
/** Bytes of each part that are told one by one. */
const NUM_BYTES = 1000;

function begun(words: Words): Words {
  return words.map((part, index) =>
    index === words.length - 1 ? part.subarray(0, part.length / 2) : part,
  );
}

export const FAMILIES: Readonly<Record<string, Family>> = {
  'words that come slowly': {
    words: (port) => [PROTOCOLS[port].asks(1)],
    count: 64,
    numPieces: 8,
    pauseMs: 250,
    stayMs: 0,
  },
  'words in pieces of one byte': {
    words: (port) => [PROTOCOLS[port].asks(MANY).map((part) => part.subarray(0, NUM_BYTES))],
    count: 8,
    numPieces: NUM_BYTES,
    pauseMs: 0,
    stayMs: 0,
  },
  'connections that are left early': {
    words: (port) => [begun(PROTOCOLS[port].asks(1)), PROTOCOLS[port].asks(MANY)],
    count: 64,
    stayMs: 0,
  },
  'answers that nobody reads': {
    words: (port) => [PROTOCOLS[port].asks(MANY)],
    count: 24,
    isRead: false,
    stayMs: 2000,
  },
  'words of another protocol': {
    words: (port) => [
      ...FOREIGN,
      ...Object.entries(PROTOCOLS)
        .filter(([other]) => other !== port)
        .map(([, { asks }]) => asks(MANY)),
    ],
    count: 8,
    stayMs: 500,
  },
  'framing that is not well-formed': {
    words: (port) => PROTOCOLS[port].malformed,
    count: 4,
    stayMs: 500,
  },
  'keys that are none': {
    words: (port) => PROTOCOLS[port].wrongKeys,
    count: 4,
    stayMs: 500,
  },
  'names, paths and hosts that are none': {
    words: (port) => PROTOCOLS[port].wrongNames,
    count: 4,
    stayMs: 500,
  },
};

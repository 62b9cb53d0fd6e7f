import { useEffect, useRef, useState } from 'preact/hooks';
import { openWebSocket } from '../api/web-socket.ts';
import { type LoggedFrame, withFrame } from './frame-log.ts';

export type SocketState = 'closed' | 'opening' | 'open';

export interface ConsoleSocket {
  readonly state: SocketState;
  readonly frames: readonly LoggedFrame[];
  readonly open: (path: string) => void;
  readonly send: (text: string) => void;
  readonly close: () => void;
  readonly clear: () => void;
}

/** A socket, and what went over it. */
export function useSocket(): ConsoleSocket {
  const [state, setState] = useState<SocketState>('closed');
  const [frames, setFrames] = useState<readonly LoggedFrame[]>([]);
  const socket = useRef<WebSocket | null>(null);
  const openedAt = useRef(0);
  useEffect(() => () => socket.current?.close(), []);
  const log = (from: LoggedFrame['from'], text: string) =>
    setFrames((all) => withFrame(all, { from, text, atMs: performance.now() - openedAt.current }));
  return {
    state,
    frames,
    open(path) {
      openedAt.current = performance.now();
      setState('opening');
      const opened = openWebSocket(path);
      socket.current = opened;
      opened.addEventListener('open', () => {
        setState('open');
        log('socket', `open: ${path}`);
      });
      opened.addEventListener('message', ({ data }) => log('server', String(data)));
      opened.addEventListener('close', ({ code, reason }) => {
        setState('closed');
        // Browsers do not tell pages why a socket was refused.
        const why = code === 1006 ? 'refused or cut off; is a key needed?' : reason;
        log('socket', `closed: ${code}${why === '' ? '' : ` ${why}`}`);
      });
    },
    send(text) {
      socket.current?.send(text);
      log('you', text);
    },
    close: () => socket.current?.close(),
    clear: () => setFrames([]),
  };
}

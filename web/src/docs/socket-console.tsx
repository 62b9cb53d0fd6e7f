import { useEffect, useRef, useState } from 'preact/hooks';
import { formatMs } from '../format.ts';
import type { LoggedFrame } from './frame-log.ts';
import { useSocket } from './use-socket.ts';

/** Frames that each socket takes. */
const FIRST_FRAMES: Readonly<Record<string, object>> = {
  '/v1/chat/completions': {
    request_id: '1',
    messages: [{ role: 'user', content: 'What is 23 + 45?' }],
    stream: true,
  },
  '/v1/completions': { request_id: '1', prompt: 'Hello', max_tokens: 16, stream: true },
  '/v1/responses': { type: 'response.create', input: 'What is 23 + 45?' },
};
const [FIRST_PATH = ''] = Object.keys(FIRST_FRAMES);

/** Frames by hand. */
export function SocketConsole() {
  const { state, frames, open, send, close, clear } = useSocket();
  const [path, setPath] = useState(FIRST_PATH);
  const [text, setText] = useState(() => frameOf(FIRST_PATH));
  return (
    <form
      class="console"
      onSubmit={(event) => {
        event.preventDefault();
        if (state === 'open') send(text);
        else if (state === 'closed') open(path);
      }}
    >
      <label>
        Path
        <select
          value={path}
          disabled={state !== 'closed'}
          onChange={(event) => {
            setPath(event.currentTarget.value);
            setText(frameOf(event.currentTarget.value));
          }}
        >
          {Object.keys(FIRST_FRAMES).map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label>
        Frame
        <textarea
          spellcheck={false}
          rows={6}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <p class="try-actions">
        <button class="send" disabled={state === 'opening'}>
          {state === 'open' ? 'Send' : 'Connect'}
        </button>
        <button type="button" disabled={state !== 'open'} onClick={close}>
          Close
        </button>
        <button type="button" disabled={frames.length === 0} onClick={clear}>
          Clear
        </button>
        <span role="status">{state}</span>
      </p>
      {frames.length > 0 && <FrameList frames={frames} />}
    </form>
  );
}

function FrameList({ frames }: { readonly frames: readonly LoggedFrame[] }) {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const { current } = list;
    if (current) current.scrollTop = current.scrollHeight;
  }, [frames]);
  return (
    <div class="frames" tabIndex={0} role="region" aria-label="Frames">
      <ol ref={list}>
        {frames.map(({ id, from, text, atMs }) => (
          <li key={id} class={from}>
            <span>{formatMs(atMs)}</span>
            <b>{from}</b>
            <code>{text}</code>
          </li>
        ))}
      </ol>
    </div>
  );
}

function frameOf(path: string): string {
  return JSON.stringify(FIRST_FRAMES[path], null, 2);
}

import { useRef, useState } from 'preact/hooks';
import { reasonOf } from '../../api/connection.ts';
import { Icon } from '../../components/icon.tsx';
import { notify } from '../../components/notices.tsx';
import { DEMO_REQUESTS, sendDemo } from './demo-load.ts';
import type { BatchSession } from './session.ts';
import { MAX_SCALE, MIN_SCALE, type Mode, ZOOM_STEP } from './viewport.ts';

interface ToolbarProps {
  readonly session: BatchSession;
  /** Those that are loaded. */
  readonly models: readonly string[];
}

export function Toolbar({ session, models }: ToolbarProps) {
  void session.panels.value;
  const { timeline, replay, model, isStill, scale } = session;
  const { instances } = timeline;
  return (
    <div class="batch-tools" role="toolbar" aria-label="Batch">
      <button type="button" onClick={() => (isStill ? session.resume() : session.hold())}>
        <Icon name={isStill ? 'play' : 'pause'} />
        {isStill ? 'Resume' : 'Pause'}
      </button>
      <span class="batch-zoom" role="group" aria-label="Zoom">
        <button
          type="button"
          disabled={scale.value <= MIN_SCALE}
          onClick={() => session.zoom(1 / ZOOM_STEP)}
          aria-label="Zoom out"
        >
          −
        </button>
        <button
          type="button"
          disabled={scale.value >= MAX_SCALE}
          onClick={() => session.zoom(ZOOM_STEP)}
          aria-label="Zoom in"
        >
          +
        </button>
        <button type="button" title="All that is kept (0)" onClick={() => session.showAll()}>
          All
        </button>
      </span>
      <ModeSwitch session={session} />
      {replay.value === null && models.length > 1 && (
        <select
          aria-label="Model"
          value={model.value ?? models[0]}
          onChange={(event) => session.watch(event.currentTarget.value)}
        >
          {models.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      )}
      {instances.length > 1 && (
        <select
          aria-label="Process"
          value={session.instance.value}
          onChange={(event) => {
            session.instance.value = Number(event.currentTarget.value);
            session.point(null);
          }}
        >
          {instances.map((each) => (
            <option key={each} value={each}>
              process {each}
            </option>
          ))}
        </select>
      )}
      <Search session={session} />
      <span class="batch-spring" />
      {replay.value === null ? (
        <>
          <DemoButton session={session} />
          <RecordButton session={session} />
        </>
      ) : (
        <button type="button" onClick={() => session.backToLive()}>
          Back to live
        </button>
      )}
      <OpenButton session={session} />
    </div>
  );
}

const MODES: readonly (readonly [Mode, string])[] = [
  ['requests', 'Requests'],
  ['slots', 'Slots'],
];

function ModeSwitch({ session }: { readonly session: BatchSession }) {
  return (
    <span class="batch-zoom" role="group" aria-label="Rows">
      {MODES.map(([mode, title]) => (
        <button
          key={mode}
          type="button"
          aria-pressed={session.mode.value === mode}
          onClick={() => {
            session.mode.value = mode;
            session.point(null);
          }}
        >
          {title}
        </button>
      ))}
    </span>
  );
}

/** Search that makes found bars stand out; Enter goes from one to the next. */
function Search({ session }: { readonly session: BatchSession }) {
  void session.panels.value;
  const next = useRef(0);
  const { found } = session;
  return (
    <label class="batch-search">
      <Icon name="search" />
      <input
        type="search"
        aria-label="Find a request by its id"
        placeholder="Request id"
        value={session.search.value}
        onInput={(event) => {
          session.search.value = event.currentTarget.value;
          next.current = 0;
          session.panels.value++;
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          const bar = found[next.current % found.length];
          next.current++;
          if (bar !== undefined) session.showBar(bar);
        }}
      />
      {session.search.value !== '' && (
        <span class="soft small numbers" role="status">
          {found.length === 0 ? 'none' : found.length}
        </span>
      )}
    </label>
  );
}

interface DemoButtonProps {
  readonly session: BatchSession;
  readonly isPrimary?: boolean;
}

/** Sends a few requests to the server, as any client may. */
export function DemoButton({ session, isPrimary = false }: DemoButtonProps) {
  const [isSending, setSending] = useState(false);
  const send = async () => {
    setSending(true);
    session.resume();
    try {
      await sendDemo(session.timeline.start?.model ?? null);
    } catch (error) {
      notify(reasonOf(error), true);
    } finally {
      setSending(false);
    }
  };
  return (
    <button
      type="button"
      class={isPrimary ? 'primary' : undefined}
      disabled={isSending || session.connection.value.state !== 'open'}
      onClick={() => void send()}
    >
      <Icon name="send" />
      {isSending ? 'Sending …' : `Send ${DEMO_REQUESTS} requests`}
    </button>
  );
}

function RecordButton({ session }: { readonly session: BatchSession }) {
  if (!session.isRecording.value) {
    return (
      <button type="button" onClick={() => session.record()}>
        <Icon name="record" />
        Record
      </button>
    );
  }
  return (
    <button type="button" class="primary" onClick={() => save(session.takeRecording())}>
      <Icon name="download" />
      Stop and save
    </button>
  );
}

function save(recording: Blob | null): void {
  if (recording === null) return;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(recording);
  link.download = `batch-${new Date().toISOString().replace(/[:.]/g, '-')}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function OpenButton({ session }: { readonly session: BatchSession }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" onClick={() => input.current?.click()}>
        <Icon name="upload" />
        Open a recording
      </button>
      <input
        ref={input}
        type="file"
        hidden
        accept=".jsonl,.ndjson,.json"
        aria-label="Recording"
        onChange={(event) => {
          const [file] = event.currentTarget.files ?? [];
          event.currentTarget.value = '';
          file
            ?.text()
            .then((text) => session.open(text))
            .catch((error: unknown) =>
              notify(error instanceof Error ? error.message : String(error), true),
            );
        }}
      />
    </>
  );
}

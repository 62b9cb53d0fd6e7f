import { useRef } from 'preact/hooks';
import { Icon } from '../../components/icon.tsx';
import { notify } from '../../components/notices.tsx';
import { isStill } from './lanes.tsx';
import type { BatchSession } from './session.ts';
import { COLUMN_WIDTHS } from './viewport.ts';

interface ToolbarProps {
  readonly session: BatchSession;
  readonly models: readonly string[];
  readonly zoom: number;
  readonly onZoom: (by: number) => void;
}

export function Toolbar({ session, models, zoom, onZoom }: ToolbarProps) {
  void session.panels.value;
  const { timeline, replay, model } = session;
  const { instances } = timeline;
  const isWaiting = isStill(session);
  return (
    <div class="batch-tools" role="toolbar" aria-label="Batch">
      <button type="button" onClick={() => session.pause(!isWaiting)}>
        <Icon name={isWaiting ? 'play' : 'pause'} />
        {isWaiting ? 'Go on' : 'Pause'}
      </button>
      <button type="button" disabled={zoom === 0} onClick={() => onZoom(-1)} aria-label="Zoom out">
        −
      </button>
      <button
        type="button"
        disabled={zoom === COLUMN_WIDTHS.length - 1}
        onClick={() => onZoom(1)}
        aria-label="Zoom in"
      >
        +
      </button>
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
      <span class="batch-spring" />
      {replay.value === null ? (
        <RecordButton session={session} />
      ) : (
        <button type="button" onClick={() => session.backToLive()}>
          Back to live
        </button>
      )}
      <OpenButton session={session} />
    </div>
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

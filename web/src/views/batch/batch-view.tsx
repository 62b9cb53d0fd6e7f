import './batch.css';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { listModels } from '../../api/models.ts';
import { apiKey, askForKey } from '../../api/key.ts';
import { Lanes } from './lanes.tsx';
import { Legend } from './legend.tsx';
import { ReplayBar } from './replay-bar.tsx';
import { BatchSession } from './session.ts';
import { SidePanel } from './side-panel.tsx';
import { StepTable } from './step-table.tsx';
import { Toolbar } from './toolbar.tsx';
import { COLUMN_WIDTHS } from './viewport.ts';

const USUAL_ZOOM = 3;

export default function BatchView() {
  const session = useMemo(() => new BatchSession(), []);
  const [zoom, setZoom] = useState(USUAL_ZOOM);
  const [isTableOpen, setTableOpen] = useState(false);
  const models = useModels();
  const key = apiKey.value;
  useEffect(() => {
    session.watch(session.model.value);
    return () => session.stop();
  }, [session, key]);
  const onZoom = (by: number) =>
    setZoom((before) => Math.max(0, Math.min(COLUMN_WIDTHS.length - 1, before + by)));
  return (
    <div class="batch">
      <header class="batch-head">
        <h1>The running batch, live</h1>
        <Status session={session} />
      </header>
      <Toolbar session={session} models={models} zoom={zoom} onZoom={onZoom} />
      <ReplayBar session={session} />
      <div class="batch-body">
        <Lanes session={session} zoom={zoom} onZoom={onZoom} />
        <SidePanel session={session} />
      </div>
      <Legend />
      <details class="batch-table" onToggle={(event) => setTableOpen(event.currentTarget.open)}>
        <summary>This step as a table</summary>
        {isTableOpen && <StepTable session={session} />}
      </details>
    </div>
  );
}

function Status({ session }: { readonly session: BatchSession }) {
  void session.panels.value;
  const replay = session.replay.value;
  const engine = session.timeline.engines.get(session.instance.value);
  const { start } = session.timeline;
  const crashes = engine?.crashes ?? 0;
  const counted = crashes === 0 ? '' : `, ${crashes} ${crashes === 1 ? 'crash' : 'crashes'} so far`;
  const state = `${start?.model ?? ''}, engine ${engine?.state ?? 'unknown'}${counted}`;
  if (replay !== null) return <p class="soft">A recording: {state}</p>;
  const connection = session.connection.value;
  if (connection.state === 'refused') {
    return (
      <p role="alert">
        <span class="bad-text">{connection.reason}</span>{' '}
        <button type="button" class="quiet" onClick={() => askForKey(connection.reason)}>
          Give the admin key
        </button>
      </p>
    );
  }
  if (connection.state === 'lost')
    return <p class="bad-text">{connection.reason} Trying again …</p>;
  if (connection.state === 'connecting' || start === null) return <p class="soft">Connecting …</p>;
  return <p class="soft">{state}</p>;
}

/** Those that generate text and are loaded. */
function useModels(): readonly string[] {
  const [models, setModels] = useState<readonly string[]>([]);
  useEffect(() => {
    const left = new AbortController();
    listModels(left.signal).then(
      (all) => setModels(all.filter(({ status }) => status.value === 'ready').map(({ id }) => id)),
      // The stream says what is wrong.
      () => {},
    );
    return () => left.abort();
  }, []);
  return models;
}

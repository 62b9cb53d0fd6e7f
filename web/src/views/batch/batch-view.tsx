import './batch.css';
import { useEffect, useState } from 'preact/hooks';
import { apiKey, askForKey } from '../../api/key.ts';
import { textModels } from '../../api/models.ts';
import { EmptyBatch } from './empty-batch.tsx';
import { Help, HelpLine } from './help.tsx';
import { Overview } from './overview.tsx';
import { PictureView } from './picture-view.tsx';
import { ReplayBar } from './replay-bar.tsx';
import { batch, type BatchSession } from './session.ts';
import { SidePanel } from './side-panel.tsx';
import { StepTable } from './step-table.tsx';
import { Toolbar } from './toolbar.tsx';

export default function BatchView() {
  const session = batch;
  const [isTableOpen, setTableOpen] = useState(false);
  void session.panels.value;
  const key = apiKey.value;
  useEffect(() => {
    session.watch(session.model.value);
    // A recording goes on in other views.
    return () => {
      if (!session.isRecording.peek()) session.stop();
    };
  }, [session, key]);
  const loaded = textModels.value.filter(({ status }) => status.value === 'ready');
  const connection = session.connection.value;
  const isReplay = session.replay.value !== null;
  const isRefused = connection.state === 'refused' && !isReplay;
  const isEmpty = session.column === undefined;
  return (
    <div class="batch">
      <header class="batch-head">
        <h1>{isReplay ? 'A recorded batch' : 'The running batch, live'}</h1>
        <Status session={session} />
      </header>
      {isRefused ? (
        <Refused reason={connection.reason} />
      ) : (
        <>
          <Toolbar session={session} models={loaded.map(({ id }) => id)} />
          <HelpLine mode={session.mode.value} />
          <ReplayBar session={session} />
          <div class="batch-body">
            <div class="batch-main">
              <Overview session={session} />
              <PictureView session={session} />
              {isEmpty && <EmptyBatch session={session} />}
            </div>
            <SidePanel session={session} />
          </div>
          <Help mode={session.mode.value} />
          <details class="batch-table" onToggle={(event) => setTableOpen(event.currentTarget.open)}>
            <summary>This step as a table</summary>
            {isTableOpen && <StepTable session={session} />}
          </details>
        </>
      )}
    </div>
  );
}

function Status({ session }: { readonly session: BatchSession }) {
  void session.panels.value;
  const engine = session.timeline.engines.get(session.instance.value);
  const { start } = session.timeline;
  const crashes = engine?.crashes ?? 0;
  const counted = crashes === 0 ? '' : `, ${crashes} ${crashes === 1 ? 'crash' : 'crashes'} so far`;
  const state = `${start?.model ?? ''}, engine ${engine?.state ?? 'unknown'}${counted}`;
  if (session.replay.value !== null) return <p class="soft">Of {state}</p>;
  const connection = session.connection.value;
  switch (connection.state) {
    case 'refused':
      return null;
    case 'unloaded':
      return <p class="soft">No model is loaded. The first question to one has it loaded.</p>;
    case 'lost':
      return <p class="bad-text">{connection.reason} Trying again …</p>;
    case 'connecting':
      return <p class="soft">Connecting …</p>;
    case 'open':
      return <p class="soft">{start === null ? 'Connecting …' : state}</p>;
  }
}

function Refused({ reason }: { readonly reason: string }) {
  return (
    <div class="card failure" role="alert">
      <p>This view is for the operator of the server. {reason}</p>
      <div class="actions">
        <button type="button" class="primary" onClick={() => askForKey('The admin key is needed.')}>
          Enter the admin key
        </button>
      </div>
    </div>
  );
}

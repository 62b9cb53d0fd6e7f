import type { BatchSession } from './session.ts';
import { DemoButton } from './toolbar.tsx';

/** In place of a picture: what to do to get one. */
export function EmptyBatch({ session }: { readonly session: BatchSession }) {
  const { state } = session.connection.value;
  if (state !== 'open') return null;
  return (
    <div class="batch-empty">
      <p>Nothing runs right now. Send some requests, and watch how they share the batch.</p>
      <DemoButton session={session} isPrimary />
    </div>
  );
}
